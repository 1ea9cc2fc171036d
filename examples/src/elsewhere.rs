//! An energy in another process, over a pipe. The protocol is in the first comment of `elsewhere/energy.py`.

use bitmc::{Layout, Packed};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{JoinHandle, spawn};

/// The most sites that a process may have.
const MOST: u32 = 1 << 20;

/// A process that evaluates energies.
#[derive(Debug)]
pub struct Process {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
    /// The last line on its standard error.
    complaint: Option<JoinHandle<Option<String>>>,
    layout: Layout,
}

/// Energies and gradients of a batch of states.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// One energy a state.
    pub energies: Vec<f32>,
    /// The gradients, one after the other.
    pub gradients: Vec<f32>,
}

impl Process {
    /// Starts a program, which says first how many sites it has.
    ///
    /// # Errors
    /// A reason in one line.
    pub fn start(program: &str, words: &[String]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let missing = || String::from("has no pipes");
        let to = child.stdin.take().ok_or_else(missing)?;
        let from = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        let last = move || BufReader::new(errors).lines().map_while(Result::ok).last();
        let mut process = Self {
            child,
            to: Some(BufWriter::new(to)),
            from: BufReader::new(from),
            complaint: Some(spawn(last)),
            layout: Layout::binary(1),
        };
        let mut sites = [0; 4];
        let read = process.from.read_exact(&mut sites);
        read.map_err(|error| process.reason(&error))?;
        match u32::from_le_bytes(sites) {
            sites @ 1..=MOST => process.layout = Layout::binary(sites as usize),
            sites => {
                let _ = process.child.kill();
                return Err(format!("says that it has {sites} sites: 1 to {MOST} can be sampled"));
            }
        }
        Ok(process)
    }

    /// The sites that it has.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Asks for the energies and gradients of a batch of states: one request, one answer.
    ///
    /// # Errors
    /// A reason in one line.
    pub fn evaluate<'x>(
        &mut self,
        states: impl ExactSizeIterator<Item = Packed<'x>>,
        answer: &mut Answer,
    ) -> Result<(), String> {
        answer.energies.resize(states.len(), 0.0);
        answer.gradients.resize(states.len() * self.layout.sites(), 0.0);
        self.exchange(states, answer).map_err(|error| self.reason(&error))
    }

    fn exchange<'x>(
        &mut self,
        states: impl ExactSizeIterator<Item = Packed<'x>>,
        answer: &mut Answer,
    ) -> io::Result<()> {
        let Some(to) = &mut self.to else { return Err(io::ErrorKind::BrokenPipe.into()) };
        to.write_all(&(states.len() as u32).to_le_bytes())?;
        for state in states {
            let bytes = state.words().iter().flat_map(|word| word.to_le_bytes());
            let bytes: Vec<u8> = bytes.take(self.layout.sites().div_ceil(8)).collect();
            to.write_all(&bytes)?;
        }
        to.flush()?;
        for number in answer.energies.iter_mut().chain(&mut answer.gradients) {
            let mut bytes = [0; 4];
            self.from.read_exact(&mut bytes)?;
            *number = f32::from_le_bytes(bytes);
        }
        Ok(())
    }

    /// What it said last, where it has ended, or else what the system says.
    fn reason(&mut self, error: &io::Error) -> String {
        self.to = None;
        let _ = self.child.kill();
        let said = self.complaint.take().and_then(|thread| thread.join().ok()).flatten();
        said.unwrap_or_else(|| format!("does not answer: {error}"))
    }
}

/// Closes the pipe, which ends the process.
impl Drop for Process {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}
