//! The interfaces of roles whose laws are still to come fit: a small stub of one law per family, each stepped through a trace
//! worked out by hand. Stubs hold what the trace needs and no more; they are not the product's laws.

mod roles {
    mod carc;
    mod homa;
}
