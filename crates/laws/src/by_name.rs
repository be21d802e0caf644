//! What every registry of laws does with a name: find the law, hold its parameters, print its help.

/// The table of a role's laws and the type of a law by name with its parameters. The role adds how such a law starts.
macro_rules! by_name {
    ($role:ident, $params:ident, $of:ident { $facts:ty, $glance:ty }, $what:literal, $($module:ident :: $law:ident,)+) => {
        #[doc = concat!("Every built-in ", $what, " law.")]
        pub static LAWS: &[$crate::params::LawInfo] = &[$($crate::params::LawInfo::new(
            <super::$module::$law as $role>::NAME,
            <<super::$module::$law as $role>::Params as $crate::params::ParamTable>::TABLE,
            include_str!(concat!(stringify!($module), ".rs")),
        ),)+];

        #[derive(Clone, Debug, PartialEq)]
        enum Params {
            $($law(<super::$module::$law as $role>::Params),)+
            Outside(alloc::sync::Arc<dyn $crate::outside::OutsideLaw<$of>>),
        }

        #[doc = concat!("A law by name, with its parameters: what a scenario sets, and what ", $what, "s start from.")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $params {
            of: Params,
            log: Option<$crate::log::Tap>,
        }

        impl $params {
            /// The built-in law of this name with its published defaults. [`Laws`](crate::Laws) also has laws from outside.
            ///
            /// # Errors
            /// If no built-in law has this name.
            pub fn new(name: &str) -> Result<Self, $crate::params::ParamError> {
                $(if name == <super::$module::$law as $role>::NAME {
                    return Ok(Self { of: Params::$law(Default::default()), log: None });
                })+
                Err($crate::params::ParamError::unknown_law(LAWS))
            }

            /// Name in scenarios.
            pub fn name(&self) -> &str {
                self.info().name()
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
                let known = (alloc::string::String::from(self.name()), self.info().params());
                $crate::params::set(known, self.table_mut(), name, text)
            }

            /// Name, parameters and help page of the law.
            ///
            /// # Panics
            /// Never: a built-in law has a row.
            pub fn info(&self) -> &$crate::params::LawInfo {
                let name = match &self.of {
                    $(Params::$law(_) => <super::$module::$law as $role>::NAME,)+
                    Params::Outside(law) => return law.info(),
                };
                LAWS.iter().find(|law| law.name() == name).expect("every variant has a row")
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
                    Params::Outside(law) => law,
                }
            }

            fn table_mut(&mut self) -> &mut dyn $crate::params::Table {
                match &mut self.of {
                    $(Params::$law(params) => params,)+
                    Params::Outside(law) => law,
                }
            }
        }

        impl $crate::params::NamedLaw for $params {
            fn info(&self) -> &$crate::params::LawInfo {
                $params::info(self)
            }

            fn set(&mut self, name: &str, text: &str) -> Result<(), $crate::params::ParamError> {
                $params::set(self, name, text)
            }

            fn texts(&self) -> alloc::vec::Vec<alloc::string::String> {
                self.values().map(|(_, value)| alloc::string::ToString::to_string(&value)).collect()
            }
        }

        impl $crate::outside::OpenRole for $of {
            type Facts = $facts;
            type Glance = $glance;

            fn outside(law: alloc::sync::Arc<dyn $crate::outside::OutsideLaw<$of>>) -> $params {
                $params { of: Params::Outside(law), log: None }
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
        $role:ident $params:ident $of:ident($start:ident, $act:ident, $seen:ident) { $facts:ty, $glance:ty } $what:literal;
        $($module:ident :: $law:ident,)+
    ) => {
        $crate::by_name::by_name!($role, $params, $of { $facts, $glance }, $what, $($module::$law,)+);

        /// A law of this role, the built-in ones dispatched by `match`.
        #[derive(Clone, Debug)]
        pub enum $of {
            $(#[doc = concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")]
            $law(super::$module::$law),)+
            /// A law that writes a log, or a law from outside.
            Boxed(alloc::boxed::Box<$crate::outside::Boxed<$of>>),
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
                    Self::Boxed(of) => of.step(now, seen, acts),
                }
            }

            /// Name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$law(_) => <super::$module::$law as $role>::NAME,)+
                    Self::Boxed(of) => of.name(Self::name),
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
                    Some(log) => $of::Boxed(alloc::boxed::Box::new($crate::outside::Boxed::Logged(
                        $crate::log::LoggedLaw::start(self, log, now, at, acts),
                    ))),
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
                    Params::Outside(law) => $of::Boxed($crate::outside::Boxed::start(law, now, at, acts)),
                }
            }
        }
    };
}
pub(crate) use registry;
