"""Prefixes under which a system call is refused, as container runtimes refuse it."""

import sys

# The filter: load the number; is it this one? then the error, else allow.
DENY = """
import ctypes, os, struct, sys
number, error = int(sys.argv[1]), int(sys.argv[2])
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x00050000 | error, 0x7FFF0000
rules = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVILEGES, SECCOMP, MODE_FILTER = 38, 22, 2
if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, MODE_FILTER, ctypes.byref(Filter(4, ctypes.addressof(text)))):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[3], sys.argv[3:])
"""
CLONE3, CLOSE_RANGE = 435, 436  # on every architecture


def refusing(number, error):
    return sys.executable, "-S", "-c", DENY, number, error
