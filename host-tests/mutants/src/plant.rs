//! Finds the places of a source file that can be changed, and writes all changes into it behind switches.

use proc_macro2::Span;
use quote::ToTokens;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ReturnType, Type, UnOp};

/// One change of the source.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Mutant {
    /// Path below `kernel/src`.
    pub file: String,
    /// 0 where the change does not compile.
    pub line: usize,
    /// The number of the first mutant of its place.
    pub first: u32,
    /// What is changed, where: unique within a file but for equal expressions in one function.
    pub text: String,
}

impl Mutant {
    /// Without the line, which moves.
    pub fn name(&self) -> String {
        format!("{}: {}", self.file, self.text)
    }
}

/// A place with one change or more.
struct Site {
    span: Range<usize>,
    line: usize,
    /// What the source becomes: `{0}`, `{1}` are the parts, and `{at}` the switch. Changes stand between ⟦ and ⟧.
    template: String,
    parts: Vec<Range<usize>>,
    texts: Vec<String>,
}

/// The places of a file, outermost first.
#[derive(Default)]
struct Sites {
    found: Vec<Site>,
    function: Vec<String>,
    owner: String,
}

fn bytes(spanned: &impl Spanned) -> Range<usize> {
    spanned.span().byte_range()
}

fn short(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let text =
        text.replace(" . ", ".").replace(" (", "(").replace("( ", "(").replace(" )", ")").replace("& ", "&");
    if text.chars().count() > 70 { text.chars().take(67).chain("...".chars()).collect() } else { text }
}

/// What an operator is replaced with.
fn others(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">", "<"],
        BinOp::Ge(_) => &["<", ">"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        _ => &[],
    }
}

/// Other results of a function, by its type.
fn results(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec![String::new()],
        ReturnType::Type(_, of) => values(of),
    }
}

fn values(of: &Type) -> Vec<String> {
    let text = |list: &[&str]| list.iter().map(|text| (*text).to_string()).collect();
    match of {
        Type::Tuple(tuple) if tuple.elems.is_empty() => text(&["()"]),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let inner = |wrap: &str| match &last.arguments {
                syn::PathArguments::AngleBracketed(list) => match list.args.first() {
                    Some(syn::GenericArgument::Type(of)) => {
                        values(of).iter().map(|value| format!("{wrap}({value})")).collect()
                    }
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            match last.ident.to_string().as_str() {
                "bool" => text(&["true", "false"]),
                "f32" | "f64" => text(&["0.0", "1.0", "-1.0"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => text(&["0", "1"]),
                "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => text(&["0", "1", "-1"]),
                "Option" => text(&["None"]).into_iter().chain(inner("Some")).collect::<Vec<String>>(),
                "Result" => inner("Ok"),
                "Self" => Vec::new(),
                _ => text(&["Default::default()"]),
            }
        }
        Type::Array(_) => text(&["Default::default()"]),
        _ => Vec::new(),
    }
}

fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

impl Sites {
    fn push(
        &mut self,
        span: Span,
        whole: Range<usize>,
        template: String,
        parts: Vec<Range<usize>>,
        texts: Vec<String>,
    ) {
        if texts.is_empty() || self.function.is_empty() {
            return;
        }
        let function = self.function.join("::");
        let texts = texts.into_iter().map(|text| text.replace("{fn}", &function)).collect();
        self.found.push(Site { span: whole, line: span.start().line, template, parts, texts });
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block, visit: impl FnOnce(&mut Self)) {
        let name = signature.ident.to_string();
        self.function.push(if self.owner.is_empty() { name } else { format!("{}::{name}", self.owner) });
        let values = results(&signature.output);
        let open = block.brace_token.span.open().byte_range().end;
        let arms: String = values
            .iter()
            .enumerate()
            .map(|(number, value)| format!("{number} => ⟦return {value}⟧, "))
            .collect();
        let texts = values
            .iter()
            .map(|value| format!("replace {{fn}} with {}", if value.is_empty() { "()" } else { value }));
        let texts = texts.collect();
        if !block.stmts.is_empty()
            && !matches!(&signature.output, ReturnType::Type(_, of) if matches!(**of, Type::ImplTrait(_) | Type::Never(_)))
        {
            self.push(
                signature.ident.span(),
                open..open,
                format!(" match {{at}} {{ {arms}_ => {{}} }} "),
                Vec::new(),
                texts,
            );
        }
        visit(self);
        self.function.pop();
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("cfg (test)") || text.contains("feature = \"defmt\"") || text.contains("bitmc_scalar")
    })
}

impl<'ast> Visit<'ast> for Sites {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = item.trait_.as_ref().map(|(_, path, _)| short(path)).unwrap_or_default();
        if is_test(&item.attrs) || ["Display", "Debug", "Format"].iter().any(|skip| of.ends_with(skip)) {
            return;
        }
        let own = short(&item.self_ty);
        let before =
            std::mem::replace(&mut self.owner, if of.is_empty() { own } else { format!("<{of} for {own}>") });
        visit::visit_item_impl(self, item);
        self.owner = before;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let before = std::mem::replace(&mut self.owner, item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = before;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block, |sites| visit::visit_block(sites, &item.block));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block, |sites| visit::visit_block(sites, &item.block));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block, |sites| visit::visit_block(sites, block));
        }
    }

    // What is computed when it is compiled has no switch.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let (list, sign) = (others(&binary.op), binary.op.to_token_stream().to_string());
        let (left, right) = (bytes(&*binary.left), bytes(&*binary.right));
        let texts: Vec<String> = list
            .iter()
            .map(|other| format!("replace {sign} with {other} in {{fn}}: {}", short(binary)))
            .collect();
        let arms = |left: &str, right: &str| -> String {
            let arm = |(number, other): (usize, &&str)| format!("{number} => ⟦{left} {other} {right}⟧, ");
            list.iter().enumerate().map(arm).chain([format!("_ => {left} {sign} {right}")]).collect()
        };
        let template = match binary.op {
            BinOp::And(_) | BinOp::Or(_) if has_let(&binary.left) || has_let(&binary.right) => None,
            BinOp::And(_) => Some("(match {0} { l => if l != ⟦({at} == 0)⟧ { {1} } else { l } })".to_string()),
            BinOp::Or(_) => Some("(match {0} { l => if l == ⟦({at} == 0)⟧ { {1} } else { l } })".to_string()),
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => Some(
                format!("(match (&({{0}}), &({{1}})) {{ (l, r) => match {{at}} {{ {} }} }})", arms("*l", "*r")),
            ),
            _ if sign.ends_with('=') => {
                Some(format!("(match {{1}} {{ r => match {{at}} {{ {} }} }})", arms("{0}", "r")))
            }
            _ => Some(format!("(match ({{0}}, {{1}}) {{ (l, r) => match {{at}} {{ {} }} }})", arms("l", "r"))),
        };
        if let Some(template) = template {
            self.push(binary.op.span(), bytes(binary), template, vec![left, right], texts);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let sign = match unary.op {
            UnOp::Not(_) => "!",
            UnOp::Neg(_) if !matches!(&*unary.expr, Expr::Lit(_)) => "-",
            _ => return visit::visit_expr_unary(self, unary),
        };
        let template = format!("(match {{0}} {{ v => match {{at}} {{ 0 => ⟦v⟧, _ => {sign}v }} }})");
        let texts = vec![format!("delete {sign} in {{fn}}: {}", short(unary))];
        self.push(unary.op.span(), bytes(unary), template, vec![bytes(&*unary.expr)], texts);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, item: &'ast syn::ExprMatch) {
        let wild = item.arms.iter().any(|arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none());
        for arm in &item.arms {
            match &arm.guard {
                Some((_, guard)) if !has_let(guard) => {
                    let template = "(match {at} { 0 => ⟦true⟧, 1 => ⟦false⟧, _ => {0} })".to_string();
                    let texts = ["true", "false"]
                        .map(|to| format!("replace guard {} with {to} in {{fn}}", short(&**guard)));
                    self.push(guard.span(), bytes(&**guard), template, vec![bytes(&**guard)], texts.to_vec());
                }
                None if wild && !matches!(arm.pat, syn::Pat::Wild(_)) => {
                    let end = bytes(&arm.pat).end;
                    let texts = vec![format!("delete arm {} in {{fn}}", short(&arm.pat))];
                    self.push(arm.pat.span(), end..end, " if ⟦{at} != 0⟧".to_string(), Vec::new(), texts);
                }
                _ => {}
            }
        }
        visit::visit_expr_match(self, item);
    }
}

/// A file with its changes.
pub struct Planted {
    pub text: String,
    /// The number of a change, and where it stands.
    pub changes: Vec<(u32, Range<usize>)>,
    /// The first number of a place, how many it has, and where it stands.
    pub places: Vec<(u32, u32, Range<usize>)>,
}

/// Writes the changes of a file behind switches, but those that are `left_out`. Numbers begin at `mutants.len()`.
pub fn plant(
    file: &str,
    source: &str,
    left_out: &HashSet<String>,
    mutants: &mut Vec<Mutant>,
) -> anyhow::Result<Planted> {
    let mut sites = Sites::default();
    sites.visit_file(&syn::parse_file(source)?);
    // Outermost first; of two at one place an insertion before what follows it.
    sites.found.sort_by_key(|site| (site.span.start, std::cmp::Reverse(site.span.end)));
    let mut planted = Planted { text: String::new(), changes: Vec::new(), places: Vec::new() };
    let (mut writer, mut names) = (
        Writer { source, sites: &sites.found, out: &mut planted, first: Vec::new() },
        std::collections::HashMap::new(),
    );
    for site in &sites.found {
        let first = mutants.len() as u32;
        writer.first.push(first);
        for text in &site.texts {
            // Equal ones of a function are counted.
            let count = names.entry(text.clone()).and_modify(|count| *count += 1).or_insert(1);
            let text = if *count == 1 { text.clone() } else { format!("{text} (number {count})") };
            mutants.push(Mutant { file: file.to_string(), line: site.line, first, text });
        }
    }
    let end = source.len();
    writer.range(0..end, None, left_out, mutants);
    Ok(planted)
}

struct Writer<'a> {
    source: &'a str,
    sites: &'a [Site],
    out: &'a mut Planted,
    first: Vec<u32>,
}

impl Writer<'_> {
    /// The text of a range, with the places inside it; `within` is the place whose part it is.
    fn range(
        &mut self,
        range: Range<usize>,
        within: Option<usize>,
        left_out: &HashSet<String>,
        mutants: &[Mutant],
    ) {
        let mut from = range.start;
        let mut next = within.map_or(0, |index| index + 1);
        while let Some(site) = self.sites.get(next) {
            if site.span.start >= range.end
                && !(site.span.is_empty() && site.span.start == range.end && within.is_none())
            {
                break;
            }
            if site.span.start < from || site.span.end > range.end {
                next += 1;
                continue;
            }
            self.out.text.push_str(&self.source[from..site.span.start]);
            from = site.span.end;
            self.site(next, left_out, mutants);
            next += 1;
        }
        self.out.text.push_str(&self.source[from..range.end]);
    }

    fn site(&mut self, index: usize, left_out: &HashSet<String>, mutants: &[Mutant]) {
        let (site, first) = (&self.sites[index], self.first[index]);
        let count = site.texts.len() as u32;
        let is_out = |number: u32| left_out.contains(&mutants[number as usize].name());
        let start = self.out.text.len();
        if (first..first + count).all(is_out) {
            // As it was, but with the places in its parts.
            let (span, mut from) = (site.span.clone(), site.span.start);
            for part in site.parts.clone() {
                self.out.text.push_str(&self.source[from..part.start]);
                from = part.end;
                self.range(part, Some(index), left_out, mutants);
            }
            self.out.text.push_str(&self.source[from..span.end]);
            return;
        }
        let (mut rest, mut number) = (site.template.as_str(), first);
        while let Some(mark) = rest.find(['{', '⟦']) {
            self.out.text.push_str(&rest[..mark]);
            rest = &rest[mark..];
            if let Some(behind) = rest.strip_prefix("{at}") {
                self.out.text.push_str(&format!("crate::mutant::at({first})"));
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("{0}") {
                self.part(index, 0, left_out, mutants);
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("{1}") {
                self.part(index, 1, left_out, mutants);
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix('⟦') {
                let end = behind.find('⟧').unwrap_or(behind.len());
                let from = self.out.text.len();
                let inner = if is_out(number) { "loop {}" } else { &behind[..end] };
                let mut inner = inner;
                while let Some(at) = inner.find('{') {
                    self.out.text.push_str(&inner[..at]);
                    inner = &inner[at..];
                    if let Some(more) = inner.strip_prefix("{at}") {
                        self.out.text.push_str(&format!("crate::mutant::at({first})"));
                        inner = more;
                    } else if let Some(more) = inner.strip_prefix("{0}") {
                        self.part(index, 0, left_out, mutants);
                        inner = more;
                    } else {
                        self.out.text.push('{');
                        inner = &inner[1..];
                    }
                }
                self.out.text.push_str(inner);
                self.out.changes.push((number, from..self.out.text.len()));
                number += 1;
                rest = &behind[end + '⟧'.len_utf8()..];
            } else {
                self.out.text.push('{');
                rest = &rest[1..];
            }
        }
        self.out.text.push_str(rest);
        self.out.places.push((first, count, start..self.out.text.len()));
    }

    fn part(&mut self, index: usize, part: usize, left_out: &HashSet<String>, mutants: &[Mutant]) {
        if let Some(range) = self.sites[index].parts.get(part).cloned() {
            self.range(range, Some(index), left_out, mutants);
        }
    }
}
