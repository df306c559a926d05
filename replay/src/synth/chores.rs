//! The events beside the turns: keys, prices, summaries of imports, findings, clocks.

use events::admission::Admitted;
use events::event::Events;
use events::hash::{Domain, digest, engine_subject, policy_subject};
use events::ids::{AuthorId, Millis};
use events::payload::{
    Actor, ActorChange, ClockCorrected, Finding, FindingCode, Import, LedgerOpened, Name,
    PolicySet, Price, PriceBook, Rates, Stream,
};
use events::rate::Rate;

use super::desk::By;
use super::lane::SOURCE;
use super::stage::{Read, Stage};
use super::{START, SynthError, policy};
use crate::policy_file::canonical;
use crate::writer::author_subject;

/// How far the owner's clock goes back when it does.
const CLOCK_STEP: Millis = 90_000;
/// Turns between changes of a price.
const PRICE_EVERY: u64 = 50_000;
/// Turns between summaries of imports, and findings.
const SUMMARY_EVERY: u64 = 100_000;
/// Rows of every source that nobody can read.
const REFUSED: u64 = 1;
/// Turns between steps of the clock.
const CLOCK_EVERY: u64 = 400_000;

impl Stage {
    /// The ledger is opened and its keys enrolled.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn enrol(&mut self, silent: &[(Stream, AuthorId)]) -> Result<(), SynthError> {
        let node = self.desk.author(By::Node);
        self.desk.push(By::Node, START, author_subject(&node), &LedgerOpened { node })?;
        let proxies = [By::Proxy, By::Second].map(|by| (Stream::Proxy, self.desk.author(by)));
        let people = [(Stream::People, self.desk.author(By::People))];
        for (stream, key) in proxies.iter().chain(silent).chain(&people) {
            let change = ActorChange::Enrolled;
            let actor = Actor { key: *key, stream: *stream, change, replaces: None };
            self.desk.push(By::Node, START, author_subject(key), &actor)?;
        }
        self.desk.flush(By::Node);
        Ok(())
    }

    /// The ledger gets its first prices.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn price(&mut self) -> Result<(), SynthError> {
        for price in self.book.prices() {
            let subject = engine_subject(price.engine.as_str());
            self.desk.push(By::Proxy, START, subject, &price)?;
        }
        if let Some(closing) = self.book.closing() {
            let subject = engine_subject(closing.source.as_str());
            self.desk.push(By::Proxy, START, subject, &closing)?;
        }
        self.desk.flush(By::Proxy);
        Ok(())
    }

    /// The ledger gets its rules.
    ///
    /// # Errors
    /// None: the policy is a constant.
    pub(super) fn rule(&mut self) -> Result<(), SynthError> {
        let text = canonical(&policy::text())?;
        let scope = Name::new(PolicySet::LEDGER)?;
        let set = PolicySet { scope, sequence: 1, text: &text };
        self.desk.push(By::People, START, policy_subject(PolicySet::LEDGER), &set)?;
        self.desk.flush(By::People);
        Ok(())
    }

    /// Does what is due after so many turns. Each chore falls due once in every ledger of a hundred
    /// turns or more, and again at fixed intervals in large ones.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn keep_house(&mut self) -> Result<(), SynthError> {
        let (turns, all) = (self.totals.turns, self.turns);
        if turns == all / 3 || turns.is_multiple_of(PRICE_EVERY) {
            self.reprice()?;
        }
        if turns == all / 2 {
            self.rotate()?;
        }
        if turns == all / 3 * 2 || turns.is_multiple_of(CLOCK_EVERY) {
            self.set_clock_back()?;
        }
        if turns == all / 4 * 3 || turns.is_multiple_of(SUMMARY_EVERY) {
            self.find()?;
            self.tell_import()?;
        }
        Ok(())
    }

    /// An engine's rates change by a tenth, up or down.
    fn reprice(&mut self) -> Result<(), SynthError> {
        let (at, change) = (self.clock(), self.price_changes);
        self.price_changes += 1;
        let engines = self.book.prices().count().max(1);
        let tenths = if (change as usize / engines).is_multiple_of(2) { 9 } else { 11 };
        if let Some(price) = self.book.prices().nth(change as usize % engines) {
            let rates = scaled(&price.rates, tenths);
            let price = Price { rates, ..price };
            self.desk.push(By::Proxy, at, engine_subject(price.engine.as_str()), &price)?;
        }
        if let Some(closing) = self.book.closing() {
            let text = [closing.digest.as_slice(), &change.to_be_bytes()].concat();
            let digest = digest(Domain::Book, &text);
            let subject = engine_subject(closing.source.as_str());
            let closing = PriceBook { changed: 1, digest, ..closing };
            self.desk.push(By::Proxy, at, subject, &closing)?;
        }
        Ok(())
    }

    /// The second proxy gets another key. Its old one writes on for a moment, without effect.
    fn rotate(&mut self) -> Result<(), SynthError> {
        let Some(successor) = self.successor.take() else { return Ok(()) };
        let (at, key) = (self.clock(), successor.public());
        let mut retired = self.desk.hand_over(By::Second, successor);
        let old = retired.id();
        let (stream, change) = (Stream::Proxy, ActorChange::Rotated);
        let actor = Actor { key, stream, change, replaces: Some(old) };
        self.desk.push(By::Node, at, author_subject(&key), &actor)?;
        self.desk.flush(By::Node);
        let mut events = Events::new();
        events.push(at, author_subject(&old), &self.import()?)?;
        if let Some(batch) = Admitted::own(&mut retired, events) {
            self.totals.without_effect += u64::from(batch.header().count);
            self.desk.take_in(batch);
        }
        Ok(())
    }

    /// The owner notices that its clock went back.
    fn set_clock_back(&mut self) -> Result<(), SynthError> {
        self.desk.flush_all();
        let ledger = self.desk.received().max(self.clock());
        self.setback += CLOCK_STEP;
        let clock = self.clock();
        self.desk.set_clock_back(clock);
        let node = author_subject(&self.desk.author(By::Node));
        self.desk.push(By::Node, clock, node, &ClockCorrected { ledger, clock })?;
        self.desk.flush(By::Node);
        Ok(())
    }

    /// A check reports something about the newest events.
    fn find(&mut self) -> Result<(), SynthError> {
        let code = FindingCode::ALL[self.findings % FindingCode::ALL.len()];
        self.findings += 1;
        let to = self.desk.events();
        let finding = Finding { code, from: to.saturating_sub(3), to };
        let node = author_subject(&self.desk.author(By::Node));
        self.desk.push(By::Node, self.clock(), node, &finding)?;
        self.desk.flush(By::Node);
        Ok(())
    }

    /// The second proxy sums up what it has read since it last did.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn tell_import(&mut self) -> Result<(), SynthError> {
        let import = self.import()?;
        let subject = author_subject(&self.desk.author(By::Second));
        self.desk.push(By::Second, self.clock(), subject, &import)?;
        self.read = Read::default();
        Ok(())
    }

    fn import(&self) -> Result<Import<'static>, SynthError> {
        let Read { turns, repeated, amended } = self.read;
        let of = [self.turns, self.totals.turns].map(u64::to_be_bytes).concat();
        Ok(Import {
            source: Name::new(SOURCE)?,
            rows: turns + repeated + amended + REFUSED,
            turns,
            repeated,
            amended,
            refused: REFUSED,
            digest: digest(Domain::Source, &of),
        })
    }
}

/// Rates times so many tenths.
fn scaled(rates: &Rates, tenths: u64) -> Rates {
    let scaled = |rate: Option<Rate>| {
        let (mantissa, scale) = rate?.decimal();
        Rate::new(mantissa.checked_mul(tenths)?, scale + 1).ok()
    };
    Rates {
        input: scaled(rates.input),
        output: scaled(rates.output),
        cache_read: scaled(rates.cache_read),
        cache_write_5m: scaled(rates.cache_write_5m),
        cache_write_1h: scaled(rates.cache_write_1h),
        reasoning: scaled(rates.reasoning),
        image: scaled(rates.image),
        request: scaled(rates.request),
    }
}
