//! Turns in flight and what they cost.

use super::*;
use proptest::prelude::*;

// What is set aside is counted until its attempt ends, and what it is charged with after.
#[test]
fn a_reservation_lives_as_long_as_its_attempt() {
    let mut told = Told::new();
    told.turn(0, 1, 9, ask(Some("pi"), Some("atlas")));
    told.dispatch(1, 1, 0, "acme/m1", Some(40));
    let flight = told.routing.flights.get(&Bytes([1; 16])).unwrap();
    assert_eq!((flight.open.len(), flight.attempts()), (1, 1));
    told.result(2, 1, 0, "acme/m1", anthropic(100, 0, 0, 7), charged(25));
    let flight = told.routing.flights.get(&Bytes([1; 16])).unwrap();
    assert_eq!((flight.open.len(), flight.spent), (0, Cost::exactly(Pico(25))));
    for account in [
        Account::All,
        Account::Client("pi".to_owned()),
        Account::Project("atlas".to_owned()),
        Account::Engine("acme/m1".to_owned()),
    ] {
        assert_eq!(told.spent(&account, 0, HOUR), Cost::exactly(Pico(25)), "{account:?}");
    }
    assert_eq!(told.routing.spend.conversation(&Bytes([9; 16])), Cost::exactly(Pico(25)));
    told.result(3, 1, 0, "acme/m1", anthropic(100, 0, 0, 7), charged(25));
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(25)), "said twice, once");
    told.close(4, 1);
    assert!(told.routing.flights.get(&Bytes([1; 16])).is_none());
}

// Case 53: reserved and crashed, reserved and settled for less, reserved and never dispatched. Nothing is left open, and
// the sum is that of what was settled. The clock ends none of them: the crash's is ended by the turn's end.
#[test]
fn case_53_no_reservation_survives_its_turn() {
    let mut told = Told::new();
    for turn in 1..=3 {
        told.turn(0, turn, turn, ask(None, None));
        told.dispatch(1, turn, 0, "acme/m1", Some(40));
    }
    told.turn(30 * 24 * HOUR, 8, 8, None);
    let open = |told: &Told| {
        told.routing.flights.iter().map(|(_, flight)| flight.open.len()).sum::<usize>()
    };
    assert_eq!(open(&told), 3, "a month later, as much as before: the clock frees nothing");
    told.result(2, 2, 0, "acme/m1", anthropic(100, 0, 0, 7), charged(10));
    let void = Charge { basis: ChargeBasis::Void, cost: Cost::ZERO };
    told.result(2, 3, 0, "acme/m1", Usage::default(), Some(void));
    for turn in 1..=3 {
        told.close(3, turn);
    }
    assert_eq!(open(&told), 0);
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(40 + 10)));
    assert_eq!(told.routing.spend.client(None), Account::Client(UNNAMED.to_owned()));
}

// Case 19: a cut attempt is charged by itself, and never with another's figures.
#[test]
fn case_19_attempts_are_charged_one_by_one() {
    let mut told = Told::new();
    told.turn(0, 1, 1, ask(None, None));
    told.dispatch(1, 1, 0, "acme/a", Some(40));
    told.dispatch(1, 1, 1, "acme/b", Some(50));
    let void = Charge { basis: ChargeBasis::Void, cost: Cost::ZERO };
    told.result(2, 1, 0, "acme/a", Usage::default(), Some(void));
    told.result(3, 1, 1, "acme/b", anthropic(100, 0, 0, 10), charged(30));
    assert_eq!(told.spent(&Account::Engine("acme/a".to_owned()), 0, HOUR), Cost::ZERO);
    assert_eq!(told.spent(&Account::Engine("acme/b".to_owned()), 0, HOUR), Cost::exactly(Pico(30)));
    assert_eq!(told.routing.flights.get(&Bytes([1; 16])).unwrap().tried, ["acme/a", "acme/b"]);
}

#[test]
fn what_nobody_knows_stays_unknown_in_every_sum() {
    let mut told = Told::new();
    told.turn(0, 1, 1, ask(None, None));
    told.dispatch(1, 1, 0, "acme/m1", None);
    told.close(2, 1);
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::UNKNOWN);
}

// Every interval counts what lies in it, whatever the mix of days and quarters of an hour.
#[test]
fn spend_is_summed_over_any_interval() {
    let mut told = Told::new();
    let quarter = HOUR / 4;
    let times: Vec<Millis> = (0..400).map(|step| step * 7 * quarter + 1).collect();
    for (index, at) in times.iter().enumerate() {
        let turn = u8::try_from(index % 200).unwrap();
        told.turn(*at, turn, 1, ask(None, None));
        told.dispatch(*at, turn, 0, "acme/m1", Some(5));
        told.result(*at, turn, 0, "acme/m1", anthropic(10, 0, 0, 1), charged(1 << (index % 60)));
        told.close(*at, turn);
    }
    let newest = *times.last().unwrap();
    let oldest = newest - 29 * 24 * HOUR;
    for from in (0..60).map(|step| oldest + step * 5 * quarter) {
        let from = from - from % quarter;
        for to in (0..60).map(|step| from + step * 9 * quarter) {
            let within = times.iter().enumerate().filter(|(_, at)| (from..to).contains(at));
            let expected: i128 = within.map(|(index, _)| 1 << (index % 60)).sum();
            assert_eq!(told.spent(&Account::All, from, to).known, Pico(expected), "{from} {to}");
        }
    }
    let inside = told.spent(&Account::All, times[300] + 1_000, times[300] + 2_000);
    assert_eq!(inside.known, Pico(1 << (300 % 60)), "a quarter that is begun counts whole");
}

// Names are a client's own text: beyond so many they share an account, and the world stays small.
#[test]
fn later_names_share_an_account() {
    let mut told = Told::new();
    for index in 0..NAMES_MAX + 20 {
        let harness = format!("harness-{index:03}");
        let turn = u8::try_from(index).unwrap();
        told.turn(0, turn, 1, ask(Some(&harness), None));
        told.dispatch(1, turn, 0, "acme/m1", Some(1));
        told.result(2, turn, 0, "acme/m1", anthropic(10, 0, 0, 1), charged(1));
    }
    let names = told.routing.spend.names(Account::Client).count();
    assert_eq!(names, NAMES_MAX + 1);
    let others = told.spent(&Account::Client(OTHERS.to_owned()), 0, HOUR);
    assert_eq!(others, Cost::exactly(Pico(20)));
    let first = told.spent(&Account::Client("harness-000".to_owned()), 0, HOUR);
    assert_eq!(first, Cost::exactly(Pico(1)));
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(84)));
}

// A turn that says it is of the year 2100 ages nothing: the owner's clock does.
#[test]
fn no_turn_can_make_the_ledger_forget() {
    let mut told = Told::new();
    told.turn(HOUR, 1, 1, ask(None, None));
    told.dispatch(HOUR, 1, 0, "acme/m1", Some(7));
    told.result(HOUR, 1, 0, "acme/m1", anthropic(2_000, 0, 2_000, 5), charged(7));
    let (at, received) = (4_102_444_800_000, 2 * HOUR);
    let context = Context {
        seq: told.seq,
        author: AuthorId::ZERO,
        written_by: None,
        received,
        at,
        subject: Bytes([2; 16]),
    };
    let turn = Turn {
        client: name("pi/1"),
        conversation: Bytes([2; 16]),
        subagent: None,
        model: name("auto"),
        news: None,
        prefix_tokens: None,
        source_key: None,
        ask: None,
    };
    told.routing.apply(&context, &Body::Turn(turn));
    assert_eq!(told.spent(&Account::All, 0, 2 * HOUR), Cost::exactly(Pico(7)));
    assert!(told.routing.lanes.get(&(Bytes([1; 16]), None)).is_some());
    assert_eq!(told.routing.spend.conversation(&Bytes([1; 16])), Cost::exactly(Pico(7)));
}

// Days with spend are counted, not measured: a clock that is set ahead, and back, frees no money.
#[test]
fn a_clock_set_ahead_makes_nothing_be_forgotten() {
    let mut told = Told::new();
    let day = 24 * HOUR;
    let spend = |told: &mut Told, at: Millis, turn: u8, harness| {
        told.turn(at, turn, turn, ask(Some(harness), None));
        told.dispatch(at, turn, 0, "acme/m1", Some(7));
        told.close(at, turn);
    };
    spend(&mut told, HOUR, 1, "gone");
    spend(&mut told, 400 * day, 2, "pi");
    told.turn(401 * day, 3, 3, None);
    let gone = Account::Client("gone".to_owned());
    assert_eq!(told.spent(&gone, 0, day), Cost::exactly(Pico(7)));
    assert_eq!(told.routing.spend.conversation(&Bytes([1; 16])), Cost::exactly(Pico(7)));
    for later in 0..45 {
        let turn = u8::try_from(10 + later).unwrap();
        spend(&mut told, (500 + later) * day, turn, "pi");
    }
    assert_eq!(told.spent(&gone, 0, day), Cost::ZERO, "more than forty days with spend ago");
    assert_eq!(told.routing.spend.conversation(&Bytes([1; 16])), Cost::ZERO);
    assert_eq!(told.routing.spend.names(Account::Client).count(), 1, "its place is free again");
}

// A name keeps its account though others take the last places while its turn is on its way.
#[test]
fn names_in_flight_take_their_place() {
    let mut told = Told::new();
    let names: Vec<String> = (0..NAMES_MAX + 2).map(|index| format!("h{index:03}")).collect();
    let mut last = 0;
    for (index, name) in names.iter().enumerate() {
        last = u8::try_from(index).unwrap();
        told.turn(0, last, last, ask(Some(name), None));
        told.dispatch(1, last, 0, "acme/m1", Some(4));
    }
    let account = |told: &Told, turn: u8| {
        told.routing.flights.get(&Bytes([turn; 16])).unwrap().accounts[0].clone()
    };
    assert_eq!(account(&told, 0), Account::Client("h000".to_owned()));
    assert_eq!(account(&told, last), Account::Client(OTHERS.to_owned()));
    for turn in (0..=last).rev() {
        told.result(2, turn, 0, "acme/m1", anthropic(10, 0, 0, 1), charged(4));
    }
    assert_eq!(told.spent(&Account::Client(OTHERS.to_owned()), 0, HOUR), Cost::exactly(Pico(8)));
    assert_eq!(told.spent(&Account::Client("h000".to_owned()), 0, HOUR), Cost::exactly(Pico(4)));
}

// However many dispatches another author claims for a turn, it can be closed.
#[test]
fn a_turn_has_a_bounded_number_of_attempts() {
    let mut told = Told::new();
    told.turn(0, 1, 1, ask(None, None));
    for attempt in 0..200 {
        told.dispatch(1, 1, attempt, "acme/m1", Some(4));
    }
    let flight = told.routing.flights.get(&Bytes([1; 16])).unwrap();
    assert_eq!((flight.open.len(), flight.tried.len()), (64, 64));
}

// A better figure for an attempt counts for its turn, too.
#[test]
fn a_correction_is_part_of_what_its_turn_has_cost() {
    let mut told = Told::new();
    told.turn(0, 1, 1, ask(None, None));
    told.dispatch(1, 1, 0, "acme/m1", Some(15));
    let estimated = Charge { basis: ChargeBasis::Estimated, cost: Cost::exactly(Pico(15)) };
    told.result(2, 1, 0, "acme/m1", Usage::default(), Some(estimated));
    let amend = Amend {
        attempt: 0,
        engine: name("acme/m1"),
        turn_at: 0,
        replaces: Usage::default(),
        usage: Usage::default(),
        turn: None,
        booking: Some(events::payload::Booking {
            dispatched: 1,
            engine: name("acme/m1"),
            conversation: Bytes([1; 16]),
            harness: None,
            project: None,
            kind: None,
            was: estimated,
            now: charged(1).unwrap(),
        }),
        reason: events::payload::AmendReason::ProviderFinal,
    };
    told.tell(3, 1, &Body::Amend(amend));
    let flight = told.routing.flights.get(&Bytes([1; 16])).unwrap();
    assert_eq!(flight.spent, Cost::exactly(Pico(1)));
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(1)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    // Law 8: whatever order attempts end in, every account comes to the same.
    #[test]
    fn law_8_spend_does_not_depend_on_the_order_attempts_end_in(
        charges in prop::collection::vec((0_u64..100, prop::option::of(0_i128..1_000_000)), 1..12),
        order in Just(()).prop_perturb(|(), mut random| random.next_u64()),
    ) {
        let spent = |order: &[usize]| {
            let mut told = Told::new();
            for (index, (hour, _)) in charges.iter().enumerate() {
                let turn = u8::try_from(index).unwrap();
                told.turn(hour * HOUR, turn, turn % 3, ask(Some("pi"), None));
                told.dispatch(hour * HOUR, turn, 0, "acme/m1", Some(9));
            }
            for index in order {
                let turn = u8::try_from(*index).unwrap();
                let charge = charges[*index].1.map_or(
                    Charge { basis: ChargeBasis::Estimated, cost: Cost::UNKNOWN },
                    |pico| charged(pico).unwrap(),
                );
                told.result(200 * HOUR, turn, 0, "acme/m1", anthropic(10, 0, 0, 1), Some(charge));
            }
            (0..120).map(|hour| told.spent(&Account::All, hour * HOUR, 120 * HOUR)).collect::<Vec<_>>()
        };
        let plain: Vec<usize> = (0..charges.len()).collect();
        let mut shuffled = plain.clone();
        shuffled.sort_by_key(|index| order.wrapping_mul(*index as u64 * 2 + 1) >> 7);
        prop_assert_eq!(spent(&plain), spent(&shuffled));
    }
}
