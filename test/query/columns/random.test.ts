/** Random statements over random tables: an answer from column segments is that of the rows, byte for byte. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Choice } from '../agree/choice.ts'
import { makeRanges, makeRows, makeStatement } from './random-statements.ts'
import { SegmentedTable } from './segmented-table.ts'

const SEED = Number(process.env.SEED ?? 20_261_119)
const ROUNDS = Number(process.env.ROUNDS ?? 12)
const STATEMENTS = Number(process.env.STATEMENTS ?? 30)

test('statements over segments have the answers of the rows, whichever segments are marked', () => {
  let used = 0
  let all = 0
  for (let round = 0; round < ROUNDS; round++) {
    const choice = new Choice(SEED + round)
    const rows = makeRows(choice, 20 + choice.below(300), round % 3 !== 2)
    const table = new SegmentedTable(rows)
    try {
      const ranges = makeRanges(
        choice,
        rows.map(({ id }) => id as bigint),
      )
      table.build(ranges)
      for (let index = 0; index < STATEMENTS; index++) {
        const statement = makeStatement(choice)
        const usual = table.usual(statement)
        if (usual.isRefused) continue
        const marked = choice.of([0, 0, 30, 100])
        const options = {
          heldBytes: choice.of([192_000_000, 60_000]),
          keptBytes: choice.of([0, 1_000_000]),
          mergedGroups: choice.of([2048, 0]),
        }
        const isUsed = ranges.map(() => choice.below(100) >= marked)
        // Once more for results that were kept; with other segments, for those that must not be used.
        for (const use of [isUsed, isUsed, isUsed.map((is, index) => is && index % 3 > 0)]) {
          const { isOfParts, opened, ...answer } = table.parts(
            statement,
            (segment) => use[segment] === true,
            {},
            options,
          )
          assert.deepEqual(answer, usual, `seed ${SEED + round}, ${marked} % marked: ${statement}`)
          all++
          if (isOfParts && (opened ?? 0) > 0) used++
        }
      }
    } finally {
      table.close()
    }
  }
  assert.ok(used > all / 4, `${used} of ${all} read segments`)
})
