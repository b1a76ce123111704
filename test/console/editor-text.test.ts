/** What the editor makes of texts: statements, parameters, tables, faults and the layout. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { DEFAULT_LIMITS, parse, tokenize } from 'gatehouse-iql'
import { findFaults } from '../../packages/console/src/editor/check.ts'
import { format } from '../../packages/console/src/editor/format.ts'
import {
  findTables,
  parameterNames,
  scan,
  splitStatements,
  statementAt,
} from '../../packages/console/src/editor/scan.ts'
import { signature, wholeEntry } from '../../packages/console/src/editor/signature.ts'
import { DEMO_DOCUMENTS } from '../../packages/server/src/declarative/demo-documents.ts'
import { print } from '../query/iql/print.ts'

const ROOT = new URL('../../', import.meta.url).pathname

const FENCED = /^```(\w*)\n([\s\S]*?)^```/gm

const EXAMPLES = await findExamples()

/** Statements of the documentation, in blocks and within sentences, and of the demonstration. */
async function findExamples(): Promise<string[]> {
  const blocks: string[] = []
  for await (const file of glob(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: ROOT })) {
    const page = await readFile(join(ROOT, file), 'utf8')
    for (const [, language = '', block = ''] of page.matchAll(FENCED))
      if (['', 'sql'].includes(language)) blocks.push(...splitStatements(block).map(({ text }) => text))
    for (const [, code = ''] of page.replaceAll(FENCED, '').matchAll(/`([^`]+)`/g)) blocks.push(code)
  }
  const demo = DEMO_DOCUMENTS.flatMap(({ body }) =>
    'tiles' in body ? body.tiles.map(({ statement }) => statement) : [body.statement],
  )
  return [...blocks, ...demo].filter(isStatement)
}

function isStatement(text: string): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

test('tokens are those of the lexer', async () => {
  const texts = [...EXAMPLES, `select x'0aff', 'it''s', "a ""b""", 1.5e-3, .5, -- c\n :p, $12 /* ; */ <> != a`]
  assert.ok(texts.length > 20, `${texts.length} statements`)
  for (const text of texts) {
    const tokens = tokenize(text, DEFAULT_LIMITS).filter(({ kind }) => kind !== 'end')
    const spans = scan(text).filter(({ kind }) => kind !== 'comment')
    assert.deepEqual(
      spans.map(({ from, kind }) => [from, kind]),
      tokens.map(({ at, kind }) => [at, kind === 'bytes' ? 'text' : kind]),
      text,
    )
  }
})

test('statements: semicolons in texts, names and comments do not end them; the one at the cursor is found', () => {
  const text = `-- all; of them\nselect ';' from "a;b"; /* ; */\n\nselect 2;  \n-- the end`
  const parts = splitStatements(text).map(({ text: part }) => part)
  assert.deepEqual(parts, [`-- all; of them\nselect ';' from "a;b"`, '/* ; */\n\nselect 2'])
  assert.equal(statementAt(text, 3)?.text, parts[0])
  assert.equal(statementAt(text, text.indexOf('; /*') + 1)?.text, parts[0])
  assert.equal(statementAt(text, text.indexOf('2;') + 2)?.text, parts[1])
  assert.equal(statementAt(text, text.length)?.text, parts[1])
  assert.equal(statementAt('', 0), undefined)
  assert.deepEqual(splitStatements("select 'never closed; "), [{ from: 0, to: 22, text: "select 'never closed; " }])
})

test('parameters are what the parser takes for one: in no example of the documentation is anything else asked for', async () => {
  const texts = EXAMPLES
  for (const text of texts) assert.deepEqual(parameterNames(text), askedBy(parse(text)), text)
  assert.ok(texts.some((text) => /row filter \([^)]*:/i.test(text)))
  assert.ok(texts.some((text) => askedBy(parse(text)).length > 0))
  // Each statement of a text for itself, and one that is being typed.
  const filter = 'ROW FILTER (desk = :role OR owner = :sub)'
  assert.deepEqual(
    parameterNames(`-- :x\ncreate table t (a Text) ${filter}; select :sub; alter table t set ${filter}`),
    ['sub'],
  )
  assert.deepEqual(parameterNames('CREATE TABLE t (a Text) ROW FILTER (a = :ro'), [])
  assert.deepEqual(parameterNames('explain select * from t where "create" = :a'), ['a'])
})

/** The claims of a row filter are not parameters. */
function askedBy(node: unknown): string[] {
  const names = new Map<string, string>()
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    if ('kind' in part && part.kind === 'parameter' && 'name' in part && typeof part.name === 'string') {
      if (!names.has(part.name.toLowerCase())) names.set(part.name.toLowerCase(), part.name)
    }
    for (const [name, value] of Object.entries(part)) if (name !== 'rowFilter') visit(value)
  }
  visit(node)
  return [...names.values()]
}

test('parameters once each, and tables with their aliases', () => {
  assert.deepEqual(parameterNames("select :a, :A, $2, ':no' -- :nor\n from t where x = :b"), ['a', '2', 'b'])
  const text = 'select * from trades t join "My Table" as m on true left join quotes where a; update x set b = 1'
  assert.deepEqual(findTables(scan(text)), [
    { table: 'trades', alias: 't' },
    { table: 'My Table', alias: 'm' },
    { table: 'quotes', alias: undefined },
    { table: 'x', alias: undefined },
  ])
})

test('a fault is where it is, in each statement, with what was expected', () => {
  const text = 'select 1 from trades;\nselect * form trades;\nselect from'
  const faults = findFaults(text)
  assert.equal(text.slice(faults[0]?.from, faults[0]?.to), 'form')
  assert.equal(faults.length, 2)
  assert.match(`${faults[1]?.message} ${faults[1]?.hint}`, /from/i)
  assert.deepEqual(findFaults(''), [])
})

test('a layout means the same, keeps comments, and stays as it is when it is laid out again', async () => {
  for (const text of EXAMPLES) {
    const once = format(text)
    assert.equal(print(parse(once)), print(parse(text)), once)
    assert.equal(format(once), once)
  }
  const text = `select a,b /* both */, left(c,2) from t -- the table\nwhere x in (select y from u where z=-1) and not exists(select 1 from v);insert into t (a,b) values (1,2)`
  assert.equal(
    format(text),
    `select a, b /* both */, left(c, 2)
from t
-- the table
where x in (
  select y
  from u
  where z = -1
) and not exists (
  select 1
  from v
);

insert into t (a, b)
values (1, 2)
`,
  )
  assert.equal(format('SELECT A FROM T WHERE b'), 'SELECT A\nFROM T\nWHERE b\n')
  assert.equal(
    format('select a from t latest on at partition by b order by a'),
    'select a\nfrom t\nlatest on at partition by b\norder by a\n',
  )
  assert.equal(
    format('select a from t join latest on latest.a = t.a'),
    'select a\nfrom t\njoin latest on latest.a = t.a\n',
  )
})

test('a function is completed with the names of its arguments; what not all overloads need is in brackets', () => {
  const written = ['round', 'time_bucket', 'vwap', 'now'].map((name) => signature(wholeEntry(name)))
  assert.deepEqual(written, [
    'round(x[, digits])',
    'time_bucket(width, time[, zone])',
    'vwap(price, quantity)',
    'now()',
  ])
})
