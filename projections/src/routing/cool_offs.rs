//! Until when an engine gets no work: a function of its faults, asked for an instant.
//!
//! What failed is left alone for longer each time it fails again, until it serves. An engine that cannot be reached says
//! something of its upstream: all of its engines are left alone.

use std::collections::BTreeMap;

use events::ids::Millis;
use events::payload::{EngineFault, FaultClass};
use serde::{Deserialize, Serialize};

use crate::policy::upstream_of;
use crate::table::Table;

/// How long an engine is left alone after its first failure in a row, its second, and so on, in milliseconds.
pub const LADDER_MS: [Millis; 4] = [5_000, 30_000, 120_000, 600_000];
/// What it asks for itself is granted up to a day.
const LONGEST_MS: Millis = 86_400_000;
/// Engines that are remembered.
const ENGINES_MAX: usize = 1_024;

/// An engine or upstream that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoolOff {
    /// How it failed last.
    pub class: FaultClass,
    /// Failures in a row.
    pub failures: u32,
    /// When the last of them was told.
    pub since: Millis,
    /// It gets no work before this instant.
    pub until: Millis,
}

/// Engines and upstreams that failed and have not served since.
#[derive(Clone, Debug, PartialEq)]
pub struct CoolOffs {
    engines: Table<String, CoolOff>,
    upstreams: Table<String, CoolOff>,
}

/// Both tables as a snapshot has them.
pub(super) type State = (BTreeMap<String, CoolOff>, BTreeMap<String, CoolOff>);

/// What a failure says something of.
enum Cools {
    Engine,
    Upstream,
    /// The request was at fault, or the engine refused just this one.
    Nothing,
}

const fn cools(class: FaultClass) -> Cools {
    match class {
        FaultClass::Auth | FaultClass::Network => Cools::Upstream,
        FaultClass::Quota
        | FaultClass::RateLimit
        | FaultClass::ModelUnavailable
        | FaultClass::UpstreamError
        | FaultClass::Timeout => Cools::Engine,
        FaultClass::ContextLength | FaultClass::InvalidRequest | FaultClass::Moderation => {
            Cools::Nothing
        }
    }
}

impl CoolOffs {
    pub(super) const fn new() -> Self {
        Self {
            engines: Table::new("cool_offs.engines"),
            upstreams: Table::new("cool_offs.upstreams"),
        }
    }

    pub(super) fn of((engines, upstreams): State) -> Self {
        Self {
            engines: Table::of("cool_offs.engines", engines),
            upstreams: Table::of("cool_offs.upstreams", upstreams),
        }
    }

    pub(super) const fn tables(&self) -> (&Table<String, CoolOff>, &Table<String, CoolOff>) {
        (&self.engines, &self.upstreams)
    }

    pub(super) fn settle(&mut self) {
        self.engines.settle();
        self.upstreams.settle();
    }

    /// An engine failed an attempt that was dispatched at an instant.
    pub(super) fn fail(&mut self, fault: &EngineFault<'_>, dispatched: Millis, now: Millis) {
        let engine = fault.engine.as_str();
        let (table, name) = match cools(fault.class) {
            Cools::Engine => (&mut self.engines, engine),
            Cools::Upstream => (&mut self.upstreams, upstream_of(engine)),
            Cools::Nothing => return,
        };
        if table.get(name).is_none() && table.len() >= ENGINES_MAX {
            table.retain(|_, cool_off| cool_off.until > now);
            if table.len() >= ENGINES_MAX {
                return;
            }
        }
        // Asking for no time at all is asking for nothing.
        let asked = fault.retry_after_ms.filter(|ms| *ms > 0);
        let asked = asked.map(|ms| Millis::from(ms).min(LONGEST_MS));
        let fresh = || CoolOff { class: fault.class, failures: 0, since: 0, until: 0 };
        table.change(name, fresh, |cool_off| {
            // What was on its way when it failed fails with it: that is one failure, not many.
            if cool_off.failures == 0 || dispatched > cool_off.since {
                cool_off.failures += 1;
                cool_off.since = now;
            }
            let rung = (cool_off.failures as usize - 1).min(LADDER_MS.len() - 1);
            let until = now.saturating_add(asked.unwrap_or(LADDER_MS[rung]));
            cool_off.class = fault.class;
            cool_off.until = cool_off.until.max(until);
        });
    }

    /// An engine served what was dispatched to it at an instant: it is well. An answer that was on its way before it
    /// failed says nothing of how it is since.
    pub(super) fn serve(&mut self, engine: &str, dispatched: Millis) {
        recover(&mut self.engines, engine, dispatched);
    }

    /// The upstream of an engine answered, whatever served.
    pub(super) fn answer(&mut self, engine: &str, dispatched: Millis) {
        recover(&mut self.upstreams, upstream_of(engine), dispatched);
    }

    /// True when nothing has failed since it served.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.engines.is_empty() && self.upstreams.is_empty()
    }

    /// Until when an engine gets no work, its upstream's cool-off included; `None` when it may have some.
    #[must_use]
    pub fn until(&self, engine: &str, as_of: Millis) -> Option<Millis> {
        let own = self.engines.get(engine);
        let upstream = self.upstreams.get(upstream_of(engine));
        let until = own.into_iter().chain(upstream).map(|cool_off| cool_off.until).max()?;
        (until > as_of).then_some(until)
    }

    /// Engines that failed and have not served since.
    pub fn engines(&self) -> impl Iterator<Item = (&String, &CoolOff)> {
        self.engines.iter()
    }

    /// Upstreams likewise.
    pub fn upstreams(&self) -> impl Iterator<Item = (&String, &CoolOff)> {
        self.upstreams.iter()
    }
}

fn recover(table: &mut Table<String, CoolOff>, name: &str, dispatched: Millis) {
    if table.get(name).is_some_and(|cool_off| dispatched > cool_off.since) {
        table.remove(&name.to_owned());
    }
}
