//! Placeholder charter.
