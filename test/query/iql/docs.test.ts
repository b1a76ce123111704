import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bind } from '../../../packages/iql/src/bind/binder.ts'
import { FUNCTIONS, SPECIAL_FORMS } from '../../../packages/iql/src/functions/functions.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import { exampleCatalogue, iqlDocs } from '../../../scripts/docs/iql.ts'
import { CHANGES, READS, SETUP } from '../../../scripts/docs/iql-examples.ts'
import { grammarRules } from '../../../scripts/docs/iql-grammar.ts'

test('docs/iql.md is up to date', () => {
  const page = readFileSync(new URL('../../../docs/iql.md', import.meta.url), 'utf8')
  assert.equal(page, iqlDocs(), 'run npm run docs')
})

test('every grammar rule is defined exactly once', () => {
  const rules = grammarRules()
  const names = rules.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.length > 40, `${names.length} rules`)
  for (const { name, lines } of rules) {
    const bare = lines.join(' ').replace(/"[^"]*"|'[^']*'/g, '')
    for (const [used] of bare.matchAll(/[A-Z][A-Za-z]+/g)) assert.ok(names.includes(used), `${name} uses ${used}`)
  }
})

test('every example binds, and its rows match the columns of its result', () => {
  const catalogue = exampleCatalogue()
  for (const { statement, rows } of [...READS, ...CHANGES]) {
    const { columns } = bind(parse(statement), statement, catalogue)
    for (const row of rows) {
      assert.deepEqual(
        Object.keys(row),
        columns.map(({ name }) => name),
        statement,
      )
      for (const [index, value] of Object.values(row).entries()) {
        const type = columns[index]?.type
        if (type?.kind !== 'Decimal' || value === null) continue
        assert.equal(String(value).split('.')[1]?.length ?? 0, type.scale, `${value} in ${statement}`)
      }
    }
  }
  assert.equal(SETUP.length, 4)
})

test('the example of every function binds', () => {
  const catalogue = exampleCatalogue()
  for (const { kind, example, id } of FUNCTIONS) {
    const call = `SELECT ${example} AS x${kind === 'scalar' ? '' : ' FROM trades'}`
    const statement = kind === 'table' ? `SELECT * FROM ${example}` : call
    assert.equal(bind(parse(statement), statement, catalogue).columns.length, 1, id)
  }
  for (const { name, example } of SPECIAL_FORMS) {
    const statement = `SELECT ${example} AS x${name === 'time_bucket_gapfill' ? ' FROM trades GROUP BY x' : ''}`
    assert.equal(bind(parse(statement), statement, catalogue).columns.length, 1)
  }
})
