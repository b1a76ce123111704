/** What the editor makes of texts: statements, parameters, tables, faults and the layout. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { faultsOf } from '../../console/src/editor/check.ts'
import { format } from '../../console/src/editor/format.ts'
import { parametersOf, scan, statementAt, statementsOf, tablesOf } from '../../console/src/editor/scan.ts'
import { DEMO_DOCUMENTS } from '../../src/declarative/demo-documents.ts'
import { tokenize } from '../../src/query/iql/lexer.ts'
import { DEFAULT_LIMITS } from '../../src/query/iql/limits.ts'
import { parse } from '../../src/query/iql/parser.ts'
import { print } from '../../src/query/iql/printer.ts'

/** Statements of the documentation and of the demonstration. */
async function examples(): Promise<string[]> {
  const page = await readFile(new URL('../../docs/iql.md', import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/```(?:sql|iql)?\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    statementsOf(block).map(({ text }) => text),
  )
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
  const texts = [
    ...(await examples()),
    `select x'0aff', 'it''s', "a ""b""", 1.5e-3, .5, -- c\n :p, $12 /* ; */ <> != a`,
  ]
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
  const parts = statementsOf(text).map(({ text: part }) => part)
  assert.deepEqual(parts, [`-- all; of them\nselect ';' from "a;b"`, '/* ; */\n\nselect 2'])
  assert.equal(statementAt(text, 3)?.text, parts[0])
  assert.equal(statementAt(text, text.indexOf('; /*') + 1)?.text, parts[0])
  assert.equal(statementAt(text, text.indexOf('2;') + 2)?.text, parts[1])
  assert.equal(statementAt(text, text.length)?.text, parts[1])
  assert.equal(statementAt('', 0), undefined)
  assert.deepEqual(statementsOf("select 'never closed; "), [{ from: 0, to: 22, text: "select 'never closed; " }])
})

test('parameters once each, and tables with their aliases', () => {
  assert.deepEqual(parametersOf("select :a, :A, $2, ':no' -- :nor\n from t where x = :b"), ['a', '2', 'b'])
  const text = 'select * from trades t join "My Table" as m on true left join quotes where a; update x set b = 1'
  assert.deepEqual(tablesOf(scan(text)), [
    { table: 'trades', alias: 't' },
    { table: 'My Table', alias: 'm' },
    { table: 'quotes', alias: undefined },
    { table: 'x', alias: undefined },
  ])
})

test('a fault is where it is, in each statement, with what was expected', () => {
  const text = 'select 1 from trades;\nselect * form trades;\nselect from'
  const faults = faultsOf(text)
  assert.equal(text.slice(faults[0]?.from, faults[0]?.to), 'form')
  assert.equal(faults.length, 2)
  assert.match(`${faults[1]?.message} ${faults[1]?.hint}`, /from/i)
  assert.deepEqual(faultsOf(''), [])
})

test('a layout means the same, keeps comments, and stays as it is when it is laid out again', async () => {
  for (const text of await examples()) {
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
