"""List claims by chapter and verdict; say all about one; run its check again."""

import argparse
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata
from urllib.parse import quote

try:
    import yaml  # noqa: F401

    from ismlit_book.record import ledger as rows
    from ismlit_book.record.cells import cells, known, rerun, used_at
    from ismlit_book.record.evidence import KNOWN
    from ismlit_book.record.origins import origin, tables_read
except ModuleNotFoundError as error:  # the library does without what the book needs
    raise SystemExit(
        f"{error.name} is missing. In a clone of the project: pip install . ./book"
    ) from error


def describe(claim_id):
    """All about one claim, as lines of text."""
    claim, where = rows.ledger()[claim_id], cells().get(claim_id, [])
    slip = f" ({claim.slip})" if claim.slip else ""
    yield f"{claim.id}: {claim.verdict}{slip}"
    yield f"  {claim.where}; {rows.TITLES[claim.chapter]}"
    yield f"  says   {claim.says}"
    if claim.prints:
        yield f"  prints {claim.prints}"
    yield f"  scope  {claim.scope}"
    yield f"  known  {', '.join(filter(None, known().get(claim_id, ('no cell',))))}"
    if claim.note:
        yield f"  note   {claim.note}"
    if claim.uses:
        yield f"  uses   {', '.join(f'{used} ({origin(claim_id, used)})' for used in claim.uses)}"
    if claim.apart:
        yield f"  apart  {'; '.join(f'{other}: {why}' for other, why in claim.apart.items())}"
    if result := rows.derives(claim_id):
        yield f"  derives {result}, with others"
    if equations := rows.derivation(claim_id):
        yield f"  derived by {', '.join(equations)}"
    if users := rows.used_by(claim_id):
        yield f"  used by {', '.join(users)}"
    if tables := tables_read(claim_id):
        yield f"  reads  {', '.join(tables)}"
    if site := _site():
        yield f"  page   {site}book/claims/{quote(claim_id)}.html"
    for path, heading in dict.fromkeys((place.path, place.heading) for place in where):
        yield f"  cell   book/{path.as_posix()}, {heading}"


def code(claim_id):
    """The cells that check a claim, each below what it uses, as lines of text."""
    for place in cells().get(claim_id, []):
        above = f"what the cell of book/{place.path.as_posix()} uses from the cells above it"
        for words, source in ((above, used_at(place)), ("the cell", place.source)):
            if source:
                yield f"\n  {words}"
                yield from (f"    {line}".rstrip() for line in source.splitlines())


def _site():
    """Where the book is served, as the library's metadata say; "" where they do not."""
    with suppress(PackageNotFoundError):
        urls = metadata("ismlit").get_all("Project-URL") or ()
        return next((u.split(", ")[1] for u in urls if u.startswith("Documentation")), "")
    return ""


def _meant(parser, words):
    """Ids of the claims that are asked for; where there is none, those that may be meant."""
    if whole := rows.named(" ".join(words)):
        return [whole]
    for word in words:
        if not rows.named(word):
            name = word if rows.ledger().keys() & {*words} else " ".join(words)
            near = [f"  {i:24} {rows.ledger()[i].says}"[:100] for i in rows.like(name)]
            hint = ["; did you mean", *near] if near else [""]
            parser.exit(2, f"error: not in the ledger: {name}" + "\n".join(hint) + "\n")
    return [*map(rows.named, words)]


FILTERS = ("chapter", "verdict", "scope", "slip")


def main(arguments=None):
    """List claims by chapter and verdict; say all about one; run its check again."""
    parser = argparse.ArgumentParser(prog="python -m ismlit_book", description=main.__doc__)
    parser.add_argument("id", nargs="*", help="say all about these: eq-5.2, theorem 6.1, (5.2)")
    parser.add_argument("--run", action="store_true", help="run their cells again")
    parser.add_argument("--chapter", choices=rows.TITLES, help="only claims of this part")
    parser.add_argument("--verdict", choices=rows.VERDICTS, help="only claims with this verdict")
    parser.add_argument("--known", choices=KNOWN, help="only claims that are known so")
    parser.add_argument("--scope", choices=rows.SCOPES, help="only claims of this scope")
    parser.add_argument("--slip", choices=rows.SLIPS, help="only claims with this fault in print")
    parser.add_argument("--find", default="", help="only claims that contain this text")
    options = parser.parse_args(arguments)
    asked = _meant(parser, options.id) if options.id else []
    if options.run and not options.id:
        parser.error("--run needs the id of a claim")
    chosen = [vars(options)[name] for name in (*FILTERS, "known", "find")]
    if options.id and any(chosen):
        parser.error("either ids, or --chapter, --verdict, --known, --scope, --slip and --find")
    if not options.id:
        _list(options)
    for claim_id in asked:
        print("\n".join(describe(claim_id)))
        number = claim_id.partition("-")[2]
        others = [i for i in rows.like(number) if i != claim_id and claim_id == f"eq-{number}"]
        if others:
            print(f"  of the same number: {', '.join(others)}")
        if not options.run:
            print("\n".join(code(claim_id)))
            continue
        try:
            rerun(claim_id)
        except rows.ClaimError as error:
            parser.exit(1, f"{error}\n")


def _list(options):
    """Print the claims asked for, part by part."""
    how = known()
    chosen = [
        claim
        for claim in rows.ledger().values()
        if all(vars(options)[f] in (None, getattr(claim, f)) for f in FILTERS)
        and options.known in (None, how.get(claim.id, ("",))[0])
        and options.find.lower() in f"{claim.id} {claim.where} {claim.says} {claim.note}".lower()
    ]
    asked = any(vars(options)[name] for name in ("verdict", "scope", "slip", "known", "find"))
    for title, claims in rows.by_chapter(chosen).items():
        print(f"\n{title}: {rows.tally(claims)}")
        here = {claim.id: [] for claim in claims} if asked else rows.folded(claims)
        for claim_id, equations in here.items():
            claim, kind = rows.ledger()[claim_id], how.get(claim_id, ("no cell",))[0]
            if claim in claims:
                print(f"  {claim.id:30} {claim.verdict:19} {kind:23} {claim.says}")
            if equations:
                ends = " to ".join(dict.fromkeys((equations[0].id, equations[-1].id)))
                print(f"    derivation of {claim_id}: {ends}, {rows.tally(equations)}")


if __name__ == "__main__":
    main()
