//! What every registry of laws does with a name: find the law, hold its parameters, print its help.

/// The table of a role's laws and the type of a law by name with its parameters. The role adds how such a law starts.
macro_rules! by_name {
    ($role:ident, $params:ident $({ $more:ident: $kind:ty = $none:expr })?, $what:literal, $($module:ident :: $law:ident,)+) => {
        #[doc = concat!("Every registered ", $what, " law.")]
        pub static LAWS: &[$crate::params::LawInfo] = &[$($crate::params::LawInfo {
            name: <super::$module::$law as $role>::NAME,
            params: <<super::$module::$law as $role>::Params as $crate::params::ParamTable>::TABLE,
            file: include_str!(concat!(stringify!($module), ".rs")),
        },)+];

        #[derive(Clone, Debug, PartialEq)]
        enum Params {
            $($law(<super::$module::$law as $role>::Params),)+
        }

        #[doc = concat!("A law by name, with its parameters: what a scenario sets, and what ", $what, "s start from.")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $params {
            of: Params,
            log: Option<$crate::log::Tap>,
            $($more: $kind,)?
        }

        impl $params {
            /// The law of this name with its published defaults.
            ///
            /// # Errors
            /// If no law has this name.
            pub fn new(name: &str) -> Result<Self, $crate::params::ParamError> {
                $(if name == <super::$module::$law as $role>::NAME {
                    return Ok(Self::of(Params::$law(Default::default())));
                })+
                Err($crate::params::ParamError::UnknownLaw { known: LAWS })
            }

            fn of(of: Params) -> Self {
                Self { of, log: None, $($more: $none,)? }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match &self.of {
                    $(Params::$law(_) => <super::$module::$law as $role>::NAME,)+
                }
            }

            /// Makes the law write a log of what it sees and does from its start on.
            #[must_use]
            pub fn with_log(self, log: $crate::log::Tap) -> Self {
                Self { log: Some(log), ..self }
            }

            /// Sets one parameter from its text.
            ///
            /// # Errors
            /// If the law has no such parameter, or the text is not one of its values; nothing changes then.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), $crate::params::ParamError> {
                $crate::params::set(self.info(), self.table_mut(), name, text)
            }

            /// Name, parameters and help page of the law.
            ///
            /// # Panics
            /// Never: a value of this type has a registered law.
            pub fn info(&self) -> &'static $crate::params::LawInfo {
                let name = self.name();
                LAWS.iter().find(|law| law.name == name).expect("every variant has a row")
            }

            /// Every parameter with its value now, in the order of the help page; the text reads back through `set`.
            /// For manifests, and for the defaults of a help page.
            pub fn values(
                &self,
            ) -> impl Iterator<
                Item = (&'static $crate::params::ParamInfo, impl core::fmt::Display + '_),
            > + '_ {
                $crate::params::values(self.info(), self.table())
            }

            fn table(&self) -> &dyn $crate::params::Table {
                match &self.of {
                    $(Params::$law(params) => params,)+
                }
            }

            fn table_mut(&mut self) -> &mut dyn $crate::params::Table {
                match &mut self.of {
                    $(Params::$law(params) => params,)+
                }
            }
        }

        $(const _: () = assert!(
            size_of::<super::$module::$law>() <= MAX_STATE,
            concat!(stringify!($law), " keeps more than MAX_STATE bytes per ", $what),
        );)+
    };
}
pub(crate) use by_name;

/// A role's registry: its enum of laws and how they start, for roles whose laws start at a time and see a borrowed event.
macro_rules! registry {
    (
        $role:ident $params:ident $of:ident($start:ident, $act:ident, $seen:ident) $what:literal;
        $($module:ident :: $law:ident,)+
    ) => {
        $crate::by_name::by_name!($role, $params, $what, $($module::$law,)+);

        /// A law of this role under any of the registered names, dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum $of {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law(super::$module::$law),)+
            /// One of them that writes a log.
            Logged(alloc::boxed::Box<$crate::log::Logged<$of>>),
        }

        impl $of {
            /// One event. Actions are added to `acts`, which the caller clears.
            #[inline(always)]
            pub fn step(
                &mut self,
                now: forebay_units::Time,
                seen: super::$seen<'_>,
                acts: &mut $crate::Acts<super::$act>,
            ) {
                match self {
                    $(Self::$law(law) => law.step(now, seen, acts),)+
                    Self::Logged(of) => of.step(now, seen, acts),
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$law(_) => <super::$module::$law as $role>::NAME,)+
                    Self::Logged(of) => of.law().name(),
                }
            }
        }

        impl $params {
            /// State at the start, at time `now`.
            pub fn start(
                &self,
                now: forebay_units::Time,
                at: super::$start,
                acts: &mut $crate::Acts<super::$act>,
            ) -> $of {
                match &self.log {
                    None => self.start_alone(now, at, acts),
                    Some(log) => $of::Logged(alloc::boxed::Box::new(
                        $crate::log::Logged::start(self, log, now, at, acts),
                    )),
                }
            }

            /// Without a log.
            pub(crate) fn start_alone(
                &self,
                now: forebay_units::Time,
                at: super::$start,
                acts: &mut $crate::Acts<super::$act>,
            ) -> $of {
                match &self.of {
                    $(Params::$law(params) => $of::$law($role::start(params, now, at, acts)),)+
                }
            }
        }
    };
}
pub(crate) use registry;
