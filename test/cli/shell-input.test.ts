/** The parts of the query shell that need no server: statements in lines, commands, completion, history, pages. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { KEYWORDS, RESERVED } from 'gatehouse-iql'
import type { KnownTables } from '../../packages/server/src/cli/query/shell/catalogue.ts'
import { COMMAND_WORDS, helpText, parseCommand } from '../../packages/server/src/cli/query/shell/commands.ts'
import { complete } from '../../packages/server/src/cli/query/shell/complete.ts'
import { CommandHistory, historyFile, MAX_ENTRIES } from '../../packages/server/src/cli/query/shell/history.ts'
import { InputBuffer, inOneLine } from '../../packages/server/src/cli/query/shell/input-buffer.ts'
import { needsPager, page } from '../../packages/server/src/cli/query/shell/pager.ts'
import { parameterNames } from '../../packages/server/src/cli/query/shell/session.ts'
import { until } from '../support/until.ts'

/** Statements and commands of a text; what no semicolon ends is marked. */
function divided(text: string): string[] {
  const buffer = new InputBuffer()
  const whole = text.split('\n').flatMap((line) => buffer.push(line))
  return [...whole.map((input) => input.text), ...buffer.end().map((input) => `${input.text} (end)`)]
}

test('a semicolon ends a statement, except in texts, names and comments', () => {
  for (const [text, expected] of [
    ['select 1; select 2;', ['select 1', 'select 2']],
    ['select 1', ['select 1 (end)']],
    ['select\n  1\n;', ['select\n  1']],
    ["select ';';", ["select ';'"]],
    ["select 'it''s;';", ["select 'it''s;'"]],
    ["select 'a\n;b';", ["select 'a\n;b'"]],
    ['select ";" from t;', ['select ";" from t']],
    ['select 1 -- one; two\n;', ['select 1 -- one; two']],
    ["select 1 -- it's\n; select 2;", ["select 1 -- it's", 'select 2']],
    ['select /* ; \n ; */ 1;', ['select /* ; \n ; */ 1']],
    ['select 1 - - 2;', ['select 1 - - 2']],
    [';;  ; -- nothing\n/* nothing */', []],
    ['-- first\nselect 1;', ['select 1']],
    ['select /* open', ['select /* open (end)']],
    ['/* open', ['/* open (end)']],
    ["select 'open;", ["select 'open; (end)"]],
    ['\\x\nselect 1;', ['\\x', 'select 1']],
    ['select 1; \\x', ['select 1', '\\x']],
    ['  \\d trades  ', ['\\d trades']],
    ['exit', ['exit']],
    ['select 1; quit ;', ['select 1', 'quit']],
    ['select\nquit;', ['select\nquit']],
    ['/* a\n\\x */ select 1;', ['/* a\n\\x */ select 1']],
    ["select '\n\\x';", ["select '\n\\x'"]],
  ] as const)
    assert.deepEqual(divided(text), expected, JSON.stringify(text))
})

test('a statement of several lines is one entry of the history, without its comments', () => {
  for (const [statement, line] of [
    ['select a, -- the first\n  b\nfrom t', 'select a, b from t'],
    ["select '--' as a\nfrom t", "select '--' as a from t"],
    ['select /* a\nb */ 1', 'select /* a b */ 1'],
    ["select 'a\nb'", undefined],
    ['select 1', 'select 1'],
  ] as const)
    assert.equal(inOneLine(statement), line)
})

test('commands are read with their arguments, and an unknown one is refused with the nearest', () => {
  assert.deepEqual(parseCommand('\\d'), { kind: 'tables' })
  assert.deepEqual(parseCommand('\\d trades;'), { kind: 'describe', table: 'trades' })
  assert.deepEqual(parseCommand('\\timing'), { kind: 'timing', on: undefined })
  assert.deepEqual(parseCommand('\\x off'), { kind: 'expanded', on: false })
  assert.deepEqual(parseCommand('\\format csv'), { kind: 'format', format: 'csv' })
  assert.deepEqual(parseCommand('\\live select 1 ;'), { kind: 'live', statement: 'select 1 ' })
  for (const word of ['\\q', 'exit', 'QUIT;']) assert.deepEqual(parseCommand(word), { kind: 'quit' })
  for (const [text, message] of [
    ['\\timng', /did you mean \\timing\?/],
    ['\\toString', /Unknown command \\toString/],
    ['\\timing maybe', /on or off/],
    ['\\format xml', /table, json, csv/],
    ['\\q now', /no argument/],
  ] as const)
    assert.throws(() => parseCommand(text), { name: 'UsageError', message })
  for (const word of COMMAND_WORDS) assert.ok(helpText().includes(`  ${word}`), word)
})

test('each statement gets the parameters that it names', () => {
  assert.deepEqual([...(parameterNames("select :a, $1, ':b' -- :c") ?? [])], ['a', '1'])
  assert.equal(parameterNames("select 'open"), undefined)
  // Those of a row filter are claims of the caller who reads the table.
  assert.deepEqual(parameterNames('-- x\ncreate table t (a Text) row filter (a = :role)'), new Set())
  assert.deepEqual(parameterNames('Alter table t set row filter (a = :sub)'), new Set())
})

const TABLES: KnownTables = new Map([
  ['trades', { name: 'trades', columns: ['id', 'symbol', 'side'] }],
  ['quotes', { name: 'quotes', columns: ['symbol', 'bid', 'Ask Size'] }],
  ['my table', { name: 'My Table', columns: ['x'] }],
])

test('Tab completes keywords, functions, tables and columns where they can be', () => {
  for (const [text, expected, fragment] of [
    ['sel', ['select'], 'sel'],
    ['SEL', ['SELECT'], 'SEL'],
    ['select * from tr', ['trades'], 'tr'],
    ['select * from ', ['"My Table"', 'quotes', 'trades'], ''],
    ['select * from "my', ['"My Table"'], '"my'],
    ['select * from trades where s', ['select', 'set', 'side', 'sign(', 'symbol'], 's'],
    ['select *\nfrom trades\nwhere sid', ['side'], 'sid'],
    ['select q.b from quotes q where q.', ['"Ask Size"', 'bid', 'symbol'], ''],
    ['select trades.s', ['side', 'symbol'], 's'],
    ['select q.bid, t.si from trades as t, quotes q where t.sy', ['symbol'], 'sy'],
    ['insert into q', ['quotes'], 'q'],
    ['describe t', ['trades'], 't'],
    ["select 'fro", [], 'fro'],
    ['select 1 -- fro', [], 'fro'],
    ['select date_t', ['date_trunc('], 'date_t'],
    ['\\', [...COMMAND_WORDS], '\\'],
    ['\\f', ['\\format'], '\\f'],
    ['\\d tr', ['trades'], 'tr'],
    ['\\format c', ['csv'], 'c'],
    ['\\live select * from q', ['quotes'], 'q'],
    ['select constructor.', [], ''],
  ] as const) {
    const [found, completed] = complete(text, TABLES)
    const shown = text.endsWith(' s') ? found.filter((word) => /^(se|si|sy)/.test(word)) : found
    assert.deepEqual([shown, completed], [expected, fragment], text)
  }
})

test('the completed keywords are those of the grammar', async () => {
  const page = await readFile(new URL('../../docs/iql.md', import.meta.url), 'utf8')
  const grammar = page.slice(page.indexOf('Script = Statement'))
  const words = new Set([...grammar.matchAll(/"([A-Z]{2,})"/g)].map(([, word = '']) => word))
  assert.deepEqual(
    [...words].filter((word) => !KEYWORDS.includes(word)),
    [],
  )
  assert.deepEqual(
    KEYWORDS.filter((word) => !words.has(word) && !RESERVED.has(word.toLowerCase())),
    [],
  )
})

test('the history is private, bounded and kept in order', (t) => {
  const base = mkdtempSync(join(tmpdir(), 'gatehouse-history-'))
  t.after(() => rmSync(base, { recursive: true, force: true }))
  const file = historyFile({ XDG_STATE_HOME: base })
  const history = new CommandHistory(file)
  assert.deepEqual(history.read(), [])
  history.add('select 1;')
  history.add('select 2;')
  assert.deepEqual(history.read(), ['select 2;', 'select 1;'])
  assert.deepEqual([statSync(file).mode & 0o777, statSync(join(base, 'gatehouse')).mode & 0o777], [0o600, 0o700])
  const many = Array.from({ length: 2 * MAX_ENTRIES + 1 }, (_, index) => `select ${index};\n`)
  writeFileSync(file, many.join(''), { mode: 0o644 })
  assert.equal(history.read()[0], `select ${2 * MAX_ENTRIES};`)
  assert.equal(readFileSync(file, 'utf8').split('\n').length, MAX_ENTRIES + 1)
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('a long text is shown in pages: Space shows the next, Enter a line, q ends', async () => {
  const input = new PassThrough()
  const output = Object.assign(new PassThrough(), { columns: 10, rows: 5 })
  let shown = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const terminal = { input, output }
  assert.equal(needsPager('a\nb\nc\nd\n', terminal), false)
  assert.equal(needsPager('a\nb\nc\n0123456789A\n', terminal), true)
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`)
  const paged = page(`${lines.join('\n')}\n`, terminal)
  const press = async (key: string, last: number) => {
    input.write(key)
    await until(`line ${last} is shown`, 30_000, () => shown.endsWith(`line ${last}\n-- more: ${REST}`))
  }
  await until('the first page is shown', 30_000, () => shown.includes('-- more'))
  assert.match(shown, /^line 0\nline 1\nline 2\nline 3\n-- more/)
  await press(' ', 7)
  await press('\r', 8)
  input.write('q')
  await paged
  assert.doesNotMatch(shown, /line 9/)
})
const REST = 'Space for the next page, Enter for the next line, q to quit --'
