//! The registry: which law each name means.

use crate::credit::{self, Credit, CreditLaw, CreditParams};
use crate::flow::{self, Flow, FlowLaw, FlowParams};
use crate::grant::{self, Grant, GrantLaw, GrantParams};
use crate::group::{self, Group, GroupLaw, GroupParams};
use crate::host::{self, Host, HostLaw, HostParams};
use crate::kernel::{ModuleLaw, Program};
use crate::log::{Compared, Log, ReplayError, ReplayedLog, Role, behind_magic, compare_of};
use crate::outside::typed::TypedLaw;
use crate::outside::{OpenRole, OutsideLaw};
use crate::params::{LawInfo, NamedLaw, ParamError, ParamTable};
use crate::pool::{self, Pool, PoolLaw, PoolParams};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// What a law works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RoleName {
    /// The sender of one flow.
    Flow,
    /// A host's path to memory.
    Host,
    /// An aggregate of flows in a switch.
    Group,
    /// A receiving host that grants.
    Grant,
    /// The credits of one flow, at its receiver.
    Credit,
    /// A connection's share of its receiver's cache.
    Pool,
}

impl RoleName {
    /// All roles, in the order of lists.
    pub const ALL: [Self; 6] =
        [Self::Flow, Self::Host, Self::Group, Self::Grant, Self::Credit, Self::Pool];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flow => Flow::NAME,
            Self::Host => Host::NAME,
            Self::Group => Group::NAME,
            Self::Grant => Grant::NAME,
            Self::Credit => Credit::NAME,
            Self::Pool => Pool::NAME,
        }
    }
}

/// The laws that names in a scenario mean: the built-in ones, and those that a program adds.
///
/// The default has the built-in laws only. Two are equal if they have the same laws, by address.
///
/// # Examples
///
/// ```
/// use forebay_laws::flow::{FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs};
/// use forebay_laws::{Acts, Laws, Start};
/// use forebay_units::{Bytes, Time};
///
/// /// A window that never changes.
/// #[derive(Clone, Debug)]
/// struct Constant;
///
/// impl FlowLaw for Constant {
///     const NAME: &'static str = "constant";
///     const NEEDS: Needs = Needs::NONE;
///     type Params = ();
///
///     fn start(_: &(), at: Start, acts: &mut Acts<FlowAct>) -> Self {
///         acts.push(FlowAct::window(at.initial_window));
///         Self
///     }
///
///     fn step(&mut self, _: Time, _: FlowSeen<'_>, _: &mut Acts<FlowAct>) {}
/// }
///
/// let laws = Laws::built_in().with_flow::<Constant>("A window that never changes.")?;
/// assert_eq!(laws.flow("constant")?.name(), "constant");
/// assert_eq!(laws.flow("dctcp")?.info().params()[0].name, "g");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Laws {
    flow: Vec<Entry<Flow>>,
    host: Vec<Entry<Host>>,
    group: Vec<Entry<Group>>,
    grant: Vec<Entry<Grant>>,
    credit: Vec<Entry<Credit>>,
    pool: Vec<Entry<Pool>>,
}

/// A law from outside under the name that scenarios use.
struct Entry<R: OpenRole> {
    name: String,
    law: Arc<dyn OutsideLaw<R>>,
    stands_in: bool, // for a law of that name
}

impl<R: OpenRole> Clone for Entry<R> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), law: self.law.clone(), stands_in: self.stands_in }
    }
}

impl<R: OpenRole> PartialEq for Entry<R> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.law, &other.law)
    }
}

impl PartialEq for Laws {
    fn eq(&self, other: &Self) -> bool {
        let Self { flow, host, group, grant, credit, pool } = self;
        *flow == other.flow
            && *host == other.host
            && *group == other.group
            && *grant == other.grant
            && *credit == other.credit
            && *pool == other.pool
    }
}

impl fmt::Debug for Laws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outside = self.outside().map(|(_, law)| law.name());
        f.debug_tuple("Laws").field(&outside.collect::<Vec<_>>()).finish()
    }
}

/// A name that another law has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTaken(String);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a law called {:?} already; give yours another name", self.0)
    }
}

impl core::error::Error for NameTaken {}

/// Where the laws of a role are.
trait HasRegistry: OpenRole {
    fn built_in() -> &'static [LawInfo];
    fn entries(laws: &Laws) -> &Vec<Entry<Self>>;
    fn entries_mut(laws: &mut Laws) -> &mut Vec<Entry<Self>>;
}

macro_rules! listed {
    ($($role:ident $name:ident $trait:ident $params:ident $add:ident $add_doc:literal;)+) => {
        $(impl HasRegistry for $role {
            fn built_in() -> &'static [LawInfo] {
                $name::LAWS
            }

            fn entries(laws: &Laws) -> &Vec<Entry<Self>> {
                &laws.$name
            }

            fn entries_mut(laws: &mut Laws) -> &mut Vec<Entry<Self>> {
                &mut laws.$name
            }
        })+

        impl Laws {
            $(#[doc = concat!("The ", stringify!($name), " law of this name with its published defaults.")]
            ///
            /// # Errors
            /// If there is none; the sentence lists those that there are.
            pub fn $name(&self, name: &str) -> Result<$params, ParamError> {
                self.params::<$role>(name)
            }

            #[doc = $add_doc]
            /// Its help page is the `//!` charter at the head of `file`.
            ///
            /// # Errors
            /// If another law has its name.
            pub fn $add<L>(self, file: &'static str) -> Result<Self, NameTaken>
            where
                L: $trait + fmt::Debug + Send + Sync + 'static,
                L::Params: ParamTable + Send + Sync + 'static,
            {
                self.with::<$role>(Arc::new(TypedLaw::<L, L::Params>::new(L::NAME, file)))
            })+

            /// Laws of a role in the order of lists, those from outside last.
            pub fn of_role(&self, role: RoleName) -> Vec<&LawInfo> {
                match role {
                    $(RoleName::$role => self.infos::<$role>(),)+
                }
            }

            /// The law of this role and name with its published defaults.
            ///
            /// # Errors
            /// If there is none.
            pub fn named(&self, role: RoleName, name: &str) -> Result<Box<dyn NamedLaw>, ParamError> {
                Ok(match role {
                    $(RoleName::$role => Box::new(self.params::<$role>(name)?),)+
                })
            }

            /// Laws from outside with their roles, without those that stand in for another.
            pub fn outside(&self) -> impl Iterator<Item = (RoleName, &LawInfo)> {
                let none = core::iter::empty();
                $(let none = none.chain(
                    self.$name.iter().filter(|entry| !entry.stands_in)
                        .map(|entry| (RoleName::$role, entry.law.info())),
                );)+
                none
            }

            /// Steps the law of a log, with these parameters set on top of those of the log, through all of it.
            ///
            /// # Errors
            /// If this is no log, or the law or a parameter is not known. A log that is cut behind its head is compared up to there.
            pub fn compare(&self, log: &[u8], set: &[(String, String)]) -> Result<Compared, ReplayError> {
                match behind_magic(log)? {
                    $(($role::CODE, from) => compare_of::<$role>(from, set, |name| self.$name(name)),)+
                    (other, _) => Err(ReplayError::Role(other)),
                }
            }
        }
    };
}

listed! {
    Flow flow FlowLaw FlowParams with_flow "Adds a law of role `flow`.";
    Host host HostLaw HostParams with_host "Adds a law of role `host`.";
    Group group GroupLaw GroupParams with_group "Adds a law of role `group`.";
    Grant grant GrantLaw GrantParams with_grant "Adds a law of role `grant`.";
    Credit credit CreditLaw CreditParams with_credit "Adds a law of role `credit`.";
    Pool pool PoolLaw PoolParams with_pool "Adds a law of role `pool`.";
}

#[allow(private_bounds, reason = "the roles are closed")]
impl Laws {
    /// The built-in laws.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// Adds a law that is made at run time. Names are unique among the laws of all roles.
    ///
    /// # Errors
    /// If another law has its name.
    pub fn with<R: HasRegistry>(mut self, law: Arc<dyn OutsideLaw<R>>) -> Result<Self, NameTaken> {
        let name = law.info().name().to_string();
        if self.find(&name).is_some() {
            return Err(NameTaken(name));
        }
        R::entries_mut(&mut self).push(Entry { name, law, stands_in: false });
        Ok(self)
    }

    /// Adds a law of role `flow` that consists of the kernel's callbacks.
    ///
    /// # Errors
    /// If another law has its name.
    pub fn with_module(self, program: Box<dyn Program>) -> Result<Self, NameTaken> {
        self.with::<Flow>(Arc::new(ModuleLaw::new(program)))
    }

    /// Lets a law stand in for the one of this name, which scenarios go on naming. Lists do not show it.
    #[must_use]
    pub fn with_stand_in<R: HasRegistry>(
        mut self,
        name: &str,
        law: Arc<dyn OutsideLaw<R>>,
    ) -> Self {
        let name = name.to_string();
        R::entries_mut(&mut self).insert(0, Entry { name, law, stands_in: true });
        self
    }

    /// All laws with their roles, in the order of lists.
    pub fn all(&self) -> impl Iterator<Item = (RoleName, &LawInfo)> {
        let of = |role| self.of_role(role).into_iter().map(move |law| (role, law));
        RoleName::ALL.into_iter().flat_map(of)
    }

    /// The law of this name, whatever its role.
    pub fn find(&self, name: &str) -> Option<(RoleName, &LawInfo)> {
        self.all().find(|(_, law)| law.name() == name)
    }

    /// Names of the laws of a role, in the order of lists.
    pub fn names(&self, role: RoleName) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.of_role(role).into_iter().map(LawInfo::name)
    }

    /// Steps the law of a log through the log again.
    ///
    /// # Errors
    /// If this is no log, or the law is not known, or it answers otherwise: the first such event.
    pub fn replay(&self, log: &[u8]) -> Result<ReplayedLog, ReplayError> {
        self.compare(log, &[])?.equal()
    }

    /// Reads the head of a log of this role.
    ///
    /// # Errors
    /// If this is no log of the role, or the law or a parameter is not known.
    pub fn open_log<'a, R: HasRegistry>(&self, log: &'a [u8]) -> Result<Log<'a, R>, ReplayError> {
        Log::open_with(log, |name| self.params::<R>(name))
    }

    fn params<R: HasRegistry>(&self, name: &str) -> Result<R::Params, ParamError> {
        match R::entries(self).iter().find(|entry| entry.name == name) {
            Some(entry) => Ok(R::outside(entry.law.clone())),
            None => {
                <R as Role>::params(name).map_err(|_| ParamError::unknown_law(self.infos::<R>()))
            }
        }
    }

    fn infos<R: HasRegistry>(&self) -> Vec<&LawInfo> {
        let outside = R::entries(self).iter().filter(|entry| !entry.stands_in);
        R::built_in().iter().chain(outside.map(|entry| entry.law.info())).collect()
    }
}
