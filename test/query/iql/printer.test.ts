import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from 'gatehouse-protocol'
import { bind } from '../../../packages/iql/src/bind/binder.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import { checks } from '../../support/checks.ts'
import { marketCatalogue } from './market-catalogue.ts'
import { print } from './print.ts'
import { withoutPositions } from './refusals.ts'
import { soup, statements } from './trees.ts'

const LIMITS = {
  statementBytes: 1e6,
  tokens: 1e6,
  nesting: 500,
  height: 1e4,
  conditions: 1e4,
  joins: 100,
  setOperations: 500,
  inItems: 100,
  listItems: 2000,
  queries: 100_000,
}

test('parse(print(x)) = x for any tree', () => {
  fc.assert(
    fc.property(statements, (statement) => {
      assert.deepEqual(withoutPositions(parse(print(statement), LIMITS)), withoutPositions(statement))
    }),
    { numRuns: checks(300) },
  )
})

test('random text is parsed or refused, and what is parsed survives printing and parsing again', () => {
  fc.assert(
    fc.property(soup, (text) => {
      let tree: ReturnType<typeof parse>
      try {
        tree = parse(text)
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error))
        return
      }
      assert.deepEqual(withoutPositions(parse(print(tree))), withoutPositions(tree))
    }),
    { numRuns: checks(3000) },
  )
})

test('any tree is bound or refused, and never fails otherwise', () => {
  const catalogue = marketCatalogue()
  fc.assert(
    fc.property(statements, (statement) => {
      const text = print(statement)
      try {
        bind(statement, text, catalogue)
      } catch (error) {
        assert.ok(error instanceof Refusal, error instanceof Error ? error.stack : String(error))
      }
    }),
    { numRuns: checks(400) },
  )
})
