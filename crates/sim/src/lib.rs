//! Assembly: a scenario in, results out. No globals, no files.
