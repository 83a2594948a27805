//! A bounded cursor over hostile bytes: the only place with file offset arithmetic.
