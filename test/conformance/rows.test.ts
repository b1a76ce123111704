/** Every row of the checklist has a test with its id, which passed when the results were recorded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readResults } from '../../scripts/conformance/results.ts'
import { testsById } from '../../scripts/conformance/tests.ts'
import { fapiModuleIds } from './fapi2/modules.ts'
import { moduleIds } from './modules.ts'
import { ROWS } from './rows.ts'

const applicable = ROWS.filter(({ without }) => without === undefined).map(({ id }) => id)

test('every row that applies has a test with its id', () => {
  const tests = testsById()
  assert.deepEqual(
    applicable.filter((id) => (tests.get(id) ?? []).length === 0),
    [],
  )
})

test('every row that applies passed when the results were recorded', () => {
  const results = readResults()
  assert.deepEqual(
    applicable.filter((id) => (results[id]?.passed ?? 0) === 0 || results[id]?.failed !== 0),
    [],
  )
})

test('every module is a row', () => {
  const known = new Set(ROWS.map(({ id }) => id))
  assert.deepEqual(
    [...moduleIds, ...fapiModuleIds].filter((id) => !known.has(id)),
    [],
  )
})
