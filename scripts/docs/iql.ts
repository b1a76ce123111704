/** Generates docs/iql.md from the tables, the grammar comments and the examples. `node scripts/docs/iql.ts` prints it. */

import {
  ARGUMENT_WORDS,
  bind,
  CAST_RULES,
  CASTS,
  type CatalogueView,
  caretPicture,
  DECIMAL_DIGITS,
  DEFAULT_LIMITS,
  ERRORS,
  FOREIGN_SYNTAX,
  FORMS,
  FUNCTIONS,
  formatSignature,
  locatePosition,
  MAX_COPIED_EXPRESSIONS,
  MAX_CREATED_BYTES,
  MAX_GROUP_BYTES,
  MAX_HELD_BYTES,
  MAX_HELD_VALUES,
  MAX_KEY_BYTES,
  MAX_LIST_BYTES,
  MAX_OUTPUT_USES,
  MAX_SEARCH_STEPS,
  MAX_WITH_USES,
  NO_TABLES,
  OPERATORS,
  POSTGRES_TYPES,
  parse,
  RESERVED,
  SHORT_PART_BYTES,
  SPECIAL_FORMS,
  type TableView,
  typeName,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { DIFFERENCES } from './iql-differences.ts'
import { CHANGES, type Example, MISTAKES, READS, SETUP } from './iql-examples.ts'
import { grammarText } from './iql-grammar.ts'
import { INTRODUCTION, MEANING } from './iql-text.ts'

export function iqlDocs(): string {
  return `${[
    INTRODUCTION,
    `## Examples\n\nThe examples that read work on the tables of the demonstration too. Here they have these columns and rows:\n\n${SETUP.map(code).join('\n\n')}`,
    `### Reading\n\n${READS.map(exampleText).join('\n\n')}`,
    `### Writing\n\n${CHANGES.map(exampleText).join('\n\n')}`,
    MEANING,
    typesText(),
    operatorsText(),
    castsText(),
    spellingsText(),
    functionsText(),
    errorsText(),
    foreignText(),
    limitsText(),
    `## Grammar\n\nWords in quotes are keywords, in any case. \`[…]\` is optional, \`{…}\` may be repeated or omitted, and \`|\` separates alternatives.\n\n\`\`\`ebnf\n${grammarText()}\n\`\`\``,
    `Reserved words, which are names only in double quotes: ${[...RESERVED].map((word) => `\`${word.toUpperCase()}\``).join(' ')}.`,
  ].join('\n\n')}\n`
}

function code(text: string): string {
  return `\`\`\`sql\n${text}\n\`\`\``
}

function exampleText({ about, statement, parameters, rows }: Example): string {
  const values =
    parameters === undefined
      ? ''
      : `\n\nwith ${Object.entries(parameters)
          .map(([name, value]) => `\`:${name}\` = \`${value}\``)
          .join(', ')}`
  return `${about}\n\n${code(statement)}${values}\n\n${resultText(statement, rows)}`
}

function resultText(statement: string, rows: Example['rows']): string {
  const { columns } = bind(parse(statement), statement, exampleCatalogue())
  const head = columns.map(({ name, type }) => `${name} (${typeName(type)})`)
  const lines = rows.map((row) => columns.map(({ name }) => String(row[name] ?? 'NULL')))
  return table(head, lines)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

/** The tables that SETUP defines, with every right. */
export function exampleCatalogue(): CatalogueView {
  const tables = new Map<string, TableView>()
  const catalogue: CatalogueView = {
    ...NO_TABLES,
    lookup: (name) => tables.get(name.toLowerCase()),
    tableNames: () => [...tables.values()].map(({ name }) => name),
  }
  for (const statement of SETUP) {
    const { statement: bound } = bind(parse(statement), statement, catalogue)
    if (bound.kind !== 'create-table') continue
    const columns = bound.columns.map((column) => ({ ...column, hasDefault: column.default !== undefined }))
    const { name, primaryKey, uniques } = bound
    const plain = { rowFilter: undefined, isSystem: false, isWritable: true, isLive: true }
    tables.set(name.toLowerCase(), { name, columns, primaryKey, uniques, ...plain })
  }
  return catalogue
}

const LITERALS: Readonly<Record<keyof typeof FORMS, string>> = {
  Text: "'it''s'",
  Integer: '42',
  Decimal: '45.10',
  Double: '1.5e3',
  Boolean: 'TRUE',
  Timestamp: "TIMESTAMP '2026-01-31T09:30:00Z'",
  LocalTimestamp: "LOCALTIMESTAMP '2026-01-31T09:30:00'",
  Date: "DATE '2026-01-31'",
  Time: "TIME '09:30:00'",
  Uuid: "UUID '123e4567-e89b-12d3-a456-426614174000'",
  Json: `JSON '{"a": 1}'`,
  Binary: "X'00ff'",
  Interval: "INTERVAL '5 minutes'",
}

function typesText(): string {
  const rows = Object.entries(LITERALS).map(([name, literal]) => {
    return [`\`${name === 'Decimal' ? 'Decimal(p, s)' : name}\``, `\`${literal}\``, buildForm(name)]
  })
  const notes = `A Decimal has at most ${DECIMAL_DIGITS} digits, in columns and in results. Comparisons of Integers and Decimals are exact for any digits and
scales, even with a number of more than ${DECIMAL_DIGITS} digits, and never overflow. Columns cannot be Intervals or LocalTimestamps. A result writes Intervals as
PostgreSQL does (\`1 day 02:30:00\`, \`1 year 2 mons\`), and a literal can be written so; an amount can have a fraction (\`0.5 seconds\`). Texts, also those inside a
Json value, cannot contain U+0000 or half of a surrogate pair; escaped ones (\`\\u0000\`, \`\\ud800\`) are refused too.`
  return `## Types\n\n${table(['type', 'literal', 'value'], rows)}\n\n${notes}`
}

function buildForm(name: string): string {
  return Object.entries(FORMS).find(([known]) => known === name)?.[1] ?? ''
}

function operatorsText(): string {
  const rows = Object.values(OPERATORS).map(({ symbol, left, right, meaning }) => [
    `${left} \`${symbol}\` ${right}`,
    meaning,
  ])
  return `## Arithmetic\n\n\`s1\` and \`s2\` are the scales of the operands. A result has at most 38 digits.\n\n${table(['operator', 'result'], rows)}`
}

function castsText(): string {
  const rows = Object.entries(CASTS).map(([from, to]) => [from, to.join(', ') || 'nothing else'])
  return `## CAST\n\n${table(['from', 'to'], rows)}\n\n${CAST_RULES.map((rule) => `- ${rule}`).join('\n')}`
}

/** What clients of PostgreSQL send, beside IQL's own spelling. */
function spellingsText(): string {
  const names = Map.groupBy(POSTGRES_TYPES, ([, type]) => type.kind)
  const types = [...names].map(([kind, entries]) => [entries.map(([name]) => `\`${name}\``).join(', '), kind])
  return `## PostgreSQL's spellings

Tools that were written for PostgreSQL send these; they mean the same everywhere, also over HTTP.

${table(
  ['written', 'means'],
  [
    ['`x::type`', '`CAST(x AS type)`; it binds closer than a sign'],
    ['`public.t`, `public.t.x`', '`t`, `t.x`: all tables are in the schema `public`'],
    ["`E'a\\n'`", 'a text with escapes, such as `\\n`, `\\t` and `\\u20ac`'],
    ['`CURRENT_TIMESTAMP`, `statement_timestamp()`', '`now()`'],
    ['`substring(x FROM a FOR b)`, `substring(x FOR b)`', '`substr(x, a, b)`, `substr(x, 1, b)`'],
    ['`trim(BOTH a FROM x)`, `LEADING`, `TRAILING`', '`trim(x, a)`, `ltrim`, `rtrim`'],
    ['`position(a IN b)`', '`position(b, a)`'],
    ["`timestamp with time zone '…'`, `timestamptz '…'`", "`TIMESTAMP '…'`"],
    ['`x COLLATE "C"`', '`x`'],
    [
      '`CONSTRAINT name PRIMARY KEY (…)`, `CONSTRAINT name UNIQUE (…)`',
      'the same without the name, which has no effect',
    ],
    ['`x varchar(10)` in CREATE TABLE', '`x Text CHECK (length(x) <= 10)`'],
    ['`ALTER TABLE t ADD CONSTRAINT name UNIQUE (…)`', '`CREATE UNIQUE INDEX name ON t (…)`'],
    ['`USING btree`, `varchar_pattern_ops`, `text_pattern_ops` in CREATE INDEX', 'nothing: every index is such'],
  ],
)}

${table(['type', 'is'], [...types, ['`numeric(p, s)`', 'Decimal(p, s)']])}

A \`timestamp\` is a Timestamp, since every time is in UTC; \`timestamp without time zone\` is a LocalTimestamp. So
\`timestamp '…' AT TIME ZONE '…'\` is [not what it is in PostgreSQL](#time-zones): write \`LOCALTIMESTAMP '…' AT TIME ZONE '…'\`. A \`float(p)\` is a Double too, and times can have the six digits that they have anyway (\`timestamptz(6)\`). \`varchar(n)\` in a cast keeps the first
n characters. \`numeric\` without digits takes those of an Integer, a Decimal or a literal. In a cast, the literals \`'t'\` and \`'f'\` are Booleans,
and a \`bytea\` can be written as \`'\\x00ff'\`. All else is as strict as before: \`id = '1'\` compares an Integer with a Text, and is an error.

### Different from PostgreSQL

Where IQL and PostgreSQL differ, most statements are refused, with a hint. These mean something else in both:

${table(
  ['what', 'in IQL', 'in PostgreSQL'],
  DIFFERENCES.map(({ what, here, postgres }) => [what, here, postgres]),
)}`
}

function functionsText(): string {
  const groups = [...Map.groupBy(FUNCTIONS, ({ group }) => group)]
  const parts = groups.map(([group, entries]) => {
    const rows = entries.map((entry) => [`\`${formatSignature(entry)}\``, entry.description, `\`${entry.example}\``])
    return `### ${group}\n\n${table(['function', 'result', 'example'], rows)}`
  })
  const special = SPECIAL_FORMS.map(({ name, description, example }) => [`\`${name}\``, description, `\`${example}\``])
  return `## Functions\n\nThere are no other functions. An argument is a type or one of these words:\n\n${table(
    ['word', 'meaning'],
    Object.entries(ARGUMENT_WORDS).map(([word, meaning]) => [word, meaning]),
  )}\n\n### Special forms\n\n${table(['form', 'result', 'example'], special)}\n\n${parts.join('\n\n')}`
}

function errorsText(): string {
  const rows = Object.entries(ERRORS).map(([name, { status, sqlstate, title, advice }]) => [
    `\`IQL.${name}\``,
    String(status),
    sqlstate,
    title,
    advice,
  ])
  return `## Errors\n\nAn error reports its position, what was expected there, and what was probably meant:\n\n${MISTAKES.map(mistakeText).join('\n\n')}\n\n${table(['code', 'status', 'SQLSTATE', 'meaning', 'what to do'], rows)}`
}

function foreignText(): string {
  const rows = FOREIGN_SYNTAX.map(({ name, advice }) => [name, advice])
  const about = 'These parts of other dialects are refused, and the error says what to write instead:'
  return `## Other dialects\n\n${about}\n\n${table(['IQL has no', 'instead'], rows)}`
}

function mistakeText(statement: string): string {
  try {
    bind(parse(statement), statement, exampleCatalogue())
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { Position: position, Hint: hint } = error.details.members ?? {}
    const offset =
      typeof position === 'object' && position !== null && 'Offset' in position ? Number(position.Offset) : 0
    const picture = caretPicture(statement, locatePosition(statement, offset))
    return `\`\`\`text\n${error.code}: ${error.message}\n${picture}${typeof hint === 'string' ? `\nhint: ${hint}` : ''}\n\`\`\``
  }
  throw new Error(`Not refused: ${statement}`)
}

const LIMIT_TEXTS: Readonly<Record<keyof typeof DEFAULT_LIMITS, string>> = {
  statementBytes: 'bytes of a statement, in UTF-8',
  tokens: 'tokens of a statement',
  nesting: 'nested parentheses, sub-queries, calls and CASE',
  height: 'nested operators other than AND and OR',
  conditions: 'AND and OR operators in one expression',
  joins: 'joins in a statement, with those of its views',
  setOperations: 'UNION, INTERSECT and EXCEPT in a statement, with those of its views',
  inItems: 'items of IN',
  listItems: 'outputs of a SELECT, keys of GROUP BY, ORDER BY or PARTITION BY, arguments of a function',
  queries: 'SELECTs in a statement, those of WITH and of sub-queries included',
}

const CREATED_TEXT = `\`||\`, concat, repeat, replace, lpad, rpad and string_agg create texts. Each of them in a statement may create an equal
share of the bytes: the only one 16 MiB, each of four 4 MiB. An operand of \`||\` or concat that is not a column, a literal or a
parameter counts as well, and so does a function such as upper that returns a copy of a created text. What a query in FROM computes
counts again for each use of its column: a chain of WITH queries of which each uses the one before it twice has a share that halves
with each. A longer text is the error \`Limit.Value\` ([query service](query.md)). The Text and Binary columns of a key or an index
share its bytes equally.

A statement holds a text once for each expression that reads it and for each function that returns a copy of it. The texts of one row
may have ${MAX_HELD_BYTES / 2 ** 20} MiB in this way: a statement with 400 conditions on a column takes texts of ${Math.floor(MAX_HELD_BYTES / 2 ** 10 / 400)} KiB. Longer ones are the
error \`Limit.Value\`. For parameters this holds everywhere; for columns on PostgreSQL, where it does not concern columns of keys and
indexes, and a row counts before the conditions of WHERE. On PostgreSQL the minima and maxima of texts that one group has may have
${MAX_GROUP_BYTES.toLocaleString('en')} bytes together, and the rows of a query after NOT IN, or after IN in a part of a condition, ${MAX_LIST_BYTES / 2 ** 20} MiB (\`Limit.Memory\`).

A search for one text in another can take as many steps as their bytes multiplied, and a database cannot interrupt it. So position,
contains, replace, split_part, LIKE and ILIKE, and the characters of trim, ltrim and rtrim, are refused with \`Limit.Value\` where the product
is too large. What is searched for may always have ${SHORT_PART_BYTES} bytes; in a text of 1 MiB it may have 1,024.`

const HELD_TEXT = `median, percentile_cont and percentile_disc hold the values of one group at a time. Each of several in a statement
may hold an equal share, down to a power of two; values of more than 18 digits count as four. A larger group is the error
\`Limit.Memory\`.`

function limitsText(): string {
  const rows = Object.entries(LIMIT_TEXTS).map(([key, text]) => [text, findLimit(key).toLocaleString('en')])
  rows.push(['uses of WITH queries, each with those inside it', MAX_WITH_USES.toLocaleString('en')])
  rows.push(['names of outputs in expressions of ORDER BY', MAX_OUTPUT_USES.toLocaleString('en')])
  rows.push([
    'expressions of a statement, including those that BETWEEN, IN, NULLIF, ORDER BY and queries in FROM repeat',
    MAX_COPIED_EXPRESSIONS.toLocaleString('en'),
  ])
  rows.push(['bytes of the texts in a key, or in an entry of an index', MAX_KEY_BYTES.toLocaleString('en')])
  rows.push(['bytes of the texts that a statement creates for one row', MAX_CREATED_BYTES.toLocaleString('en')])
  rows.push([
    'bytes of a text, multiplied by the bytes of what is searched for in it',
    MAX_SEARCH_STEPS.toLocaleString('en'),
  ])
  rows.push(['values that medians and percentiles hold of one group', (MAX_HELD_VALUES - 1).toLocaleString('en')])
  return `## Limits\n\n${table(['limit', 'maximum'], rows)}\n\n${CREATED_TEXT}\n\n${HELD_TEXT}`
}

function findLimit(key: string): number {
  const found = Object.entries(DEFAULT_LIMITS).find(([name]) => name === key)
  return found?.[1] ?? 0
}

if (import.meta.main) process.stdout.write(iqlDocs())
