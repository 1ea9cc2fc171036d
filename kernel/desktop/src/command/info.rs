//! `bitmc info FILE`.

use crate::output::{Input, Output};
use bitmc_desktop::Error;
use clap::Args;
use serde::Serialize;

#[derive(Args, Debug, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: Input,

    #[command(flatten)]
    #[serde(flatten)]
    output: Output,
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let answer = options.input.model()?.info();
    options.output.tell(options, &answer, &answer.to_string())
}
