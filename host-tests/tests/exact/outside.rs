//! The kernel's transition matrices beside those that a program in numpy made from the papers' formulas:
//! `outside/transitions.py`, and the file that it writes. It shares no line with the kernel or with the other references.

use bitmc::step::{Choice, Gibbs};
use bitmc::{Energy, GibbsWithGradients, Langevin, Packed};
use bitmc_host_tests::factors::{Graph, Table};
use bitmc_host_tests::heap::{self, Couplings, HeapChain};
use bitmc_host_tests::lattice::Quadratic;
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::tolerance::{LOG_ROUNDINGS, LOGIT_ROUNDINGS, ROUNDING};
use serde_json::Value;

/// A model of the file.
struct Case(Value);

impl Case {
    fn numbers(&self, name: &str) -> Vec<f64> {
        self.0[name].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    fn singles(&self, name: &str) -> Vec<f32> {
        self.numbers(name).into_iter().map(|number| number as f32).collect()
    }

    fn alpha(&self) -> f32 {
        self.0["alpha"].as_f64().unwrap() as f32
    }

    fn arities(&self) -> Vec<usize> {
        self.numbers("arities").into_iter().map(|arity| arity as usize).collect()
    }

    fn kind(&self) -> &str {
        self.0["kind"].as_str().unwrap()
    }

    /// Calls with the kernel's model.
    fn with(&self, use_it: impl FnOnce(&dyn Energy)) {
        match self.kind() {
            kind @ ("spins" | "bits") => {
                let convention =
                    if kind == "spins" { Convention::SpinsEdgesOnce } else { Convention::BitsEdgesOnce };
                let edge = |edge: &Value| {
                    let end = |which: usize| edge[which].as_u64().unwrap() as u32;
                    (end(0), end(1), edge[2].as_f64().unwrap() as f32)
                };
                let edges = self.0["edges"].as_array().unwrap().iter().map(edge).collect();
                let model = Pairwise { convention, edges, fields: self.singles("fields") };
                use_it(&model.couplings().ising(&model).unwrap());
            }
            "gaussian" => {
                let (matrix, centre) = (self.singles("matrix"), self.singles("centre"));
                let model = Quadratic { matrix, centre, arity: self.arities()[0] };
                use_it(&model.sparse(&mut Couplings::new(2, 1)).unwrap());
            }
            _ => {
                let table = |table: &Value| {
                    let table = Self(table.clone());
                    let sites = table.numbers("sites").into_iter().map(|site| site as usize).collect();
                    Table { sites, values: table.singles("values") }
                };
                let tables = self.0["tables"].as_array().unwrap().iter().map(table).collect();
                let arities = self.arities().into_iter().map(|arity| arity as u16).collect();
                use_it(&Graph { arities, tables }.compiled().model().unwrap());
            }
        }
    }

    /// The states in the file's order: site 0 fastest.
    fn states(&self) -> Vec<Vec<usize>> {
        let arities = self.arities();
        let state = |mut number: usize| {
            let digit = |&arity: &usize| (number % arity, number /= arity).0;
            arities.iter().map(digit).collect()
        };
        (0..arities.iter().product()).map(state).collect()
    }
}

/// A matrix with rows that a sampler gives, from a chain that stands at the row's state.
struct Rows<'a> {
    energy: &'a dyn Energy,
    states: &'a [Vec<usize>],
}

impl Rows<'_> {
    fn words(&self, state: &[usize]) -> Vec<u32> {
        heap::pack_in(self.energy.layout(), &state.iter().map(|&value| value as f64).collect::<Vec<_>>())
    }

    fn matrix(
        &self,
        mut entry: impl FnMut(&mut HeapChain<'_, dyn Energy + '_>, &[usize], &[usize]) -> f64,
    ) -> Vec<Vec<f64>> {
        let layout = self.energy.layout();
        let mut chain = heap::chain(self.energy, &self.words(&self.states[0])).unwrap();
        let mut row = |x: &Vec<usize>| {
            chain.restart(Packed::new(layout, &self.words(x)).unwrap()).unwrap();
            self.states.iter().map(|y| entry(&mut chain, x, y)).collect()
        };
        self.states.iter().map(&mut row).collect()
    }

    /// With what is left on the diagonal.
    fn tested(
        &self,
        moves: impl FnMut(&mut HeapChain<'_, dyn Energy + '_>, &[usize], &[usize]) -> f64,
    ) -> Vec<Vec<f64>> {
        let mut matrix = self.matrix(moves);
        for (x, row) in matrix.iter_mut().enumerate() {
            row[x] = 0.0;
            row[x] = 1.0 - row.iter().sum::<f64>();
        }
        matrix
    }

    fn langevin(&self, alpha: f32) -> Vec<Vec<f64>> {
        let sampler = Langevin::adjusted(alpha).unwrap();
        self.tested(|chain, _, y| {
            let words = self.words(y);
            let found =
                sampler.transition(chain.ring(), Packed::new(self.energy.layout(), &words).unwrap()).unwrap();
            (f64::from(found.log_forward) + f64::from(found.log_ratio).min(0.0)).exp()
        })
    }

    fn gradients(&self) -> Vec<Vec<f64>> {
        let sampler = GibbsWithGradients::new(1).unwrap();
        self.tested(|chain, x, y| match differing(x, y)[..] {
            [site] => {
                let path = [Choice { site, value: y[site] as u32 }];
                let found = sampler.transition(chain.ring(), &path).unwrap();
                (f64::from(found.log_forward) + f64::from(found.log_ratio).min(0.0)).exp()
            }
            _ => 0.0,
        })
    }

    /// One sweep in the order of the sites.
    fn gibbs(&self) -> Vec<Vec<f64>> {
        let count = self.states.len();
        let mut sweep: Vec<Vec<f64>> =
            (0..count).map(|x| (0..count).map(|y| f64::from(u8::from(x == y))).collect()).collect();
        for site in 0..self.energy.layout().sites() {
            let update = self.matrix(|chain, x, y| {
                if differing(x, y).iter().any(|&other| other != site) {
                    return 0.0;
                }
                let mut log_p = vec![f32::NAN; self.energy.layout().arity()];
                assert!(!Gibbs::conditional(chain.ring(), site, &mut log_p));
                f64::from(log_p[y[site]]).exp()
            });
            let entry = |row: &[f64], y: usize| (0..count).map(|z| row[z] * update[z][y]).sum();
            sweep = sweep.iter().map(|row| (0..count).map(|y| entry(row, y)).collect()).collect();
        }
        sweep
    }
}

fn differing(x: &[usize], y: &[usize]) -> Vec<usize> {
    (0..x.len()).filter(|&site| x[site] != y[site]).collect()
}

/// The largest difference of two matrices, in units of what rounding allows. The file has seven digits. Of a probability p,
/// that of ln p: logits of up to 40, four of them in a move and its way back.
fn distance(found: &[Vec<f64>], file: &[f64]) -> f64 {
    let logarithm = ROUNDING * 4.0 * (LOGIT_ROUNDINGS * 40.0 + LOG_ROUNDINGS * 20.0);
    let bound = |p: f64| logarithm * p + 5e-8 * p + 4.0 * ROUNDING;
    let off = |(&p, &q): (&f64, &f64)| (p - q).abs() / bound(q);
    let off = found.iter().flatten().zip(file).map(off);
    off.fold(0.0, |most, off| if off.is_nan() { f64::INFINITY } else { most.max(off) })
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("../../outside/transitions.json")).unwrap();
    file.as_array().unwrap().iter().cloned().map(Case).collect()
}

#[test]
fn transition_matrices_are_those_of_another_program() {
    let cases = cases();
    assert_eq!(cases.len(), 20);
    for (number, case) in cases.iter().enumerate() {
        let states = case.states();
        case.with(|energy| {
            let rows = Rows { energy, states: &states };
            for (name, found) in
                [("dmala", rows.langevin(case.alpha())), ("gwg", rows.gradients()), ("gibbs", rows.gibbs())]
            {
                let file = case.numbers(name);
                assert_eq!(file.len(), states.len() * states.len());
                let distance = distance(&found, &file);
                assert!(distance <= 1.0, "model {number}, {}, {name}: {distance} bounds", case.kind());
            }
        });
    }
}

/// Negative controls: a step size a thousandth off, and each sampler's matrix for another's.
#[test]
fn a_small_fault_is_seen_in_every_model() {
    for (number, case) in cases().iter().enumerate() {
        let states = case.states();
        case.with(|energy| {
            let rows = Rows { energy, states: &states };
            let off = distance(&rows.langevin(case.alpha() * 1.001), &case.numbers("dmala"));
            assert!(off > 1.0, "model {number}: {off} bounds for a step size of 1.001 α");
            assert!(distance(&rows.gibbs(), &case.numbers("gwg")) > 1.0);
            assert!(distance(&rows.gradients(), &case.numbers("dmala")) > 1.0);
        });
    }
}
