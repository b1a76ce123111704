/** The recipes of docs/recipes.md: every statement gives the result that the page shows, on SQLite and on PostgreSQL. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type QueryServer, startQueryServer } from '../query/query-server.ts'
import { onEveryEngine } from '../support/engines.ts'

const PAGE = new URL('../../docs/recipes.md', import.meta.url)

interface Recipe {
  readonly statement: string
  /** The table after the statement; empty if there is none. */
  readonly shown: string
}

function findRecipes(page: string): Recipe[] {
  return [...page.matchAll(/```sql\n([\s\S]*?)```\n(?:\n((?:\|.*\n)+))?/g)].map(([, statement = '', shown = '']) => ({
    statement,
    shown,
  }))
}

interface Reply {
  readonly Columns: Readonly<Record<string, unknown>>
  readonly Rows: readonly Readonly<Record<string, unknown>>[]
}

function buildTable({ Columns, Rows }: Reply): string {
  const names = Object.keys(Columns)
  if (names.length === 0) return ''
  const lines = Rows.map((row) => `| ${names.map((name) => String(row[name] ?? 'NULL')).join(' | ')} |`)
  return `${[`| ${names.join(' | ')} |`, `|${names.map(() => '---|').join('')}`, ...lines].join('\n')}\n`
}

onEveryEngine('the recipes', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  test('every statement gives the result that the page shows', async () => {
    const page = readFileSync(PAGE, 'utf8')
    const recipes = findRecipes(page)
    assert.ok(recipes.length >= 18)
    for (const { statement, shown } of recipes) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}\n${reply.text}`)
      const table = buildTable(reply.json)
      assert.equal(shown, table, statement)
    }
  })
})
