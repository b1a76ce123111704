/** The rows of a grouping whose groups are all in the executor, as SQLite would return them. */
import type { ColumnExecutor } from '../../../columns/executor.ts'
import type { ColumnOutput, ColumnResult } from '../../../columns/plan.ts'
import type { RawValue } from '../../../columns/segment.ts'
import { fitted, roundedQuotient } from '../functions/number.ts'

/** As many digits as a Decimal has at most. */
const DIGITS = 38n

export function* resultRows(executor: ColumnExecutor, { outputs, order }: ColumnResult): Generator<RawValue[]> {
  const sorted = executor.sort(order)
  for (let at = 0; at < sorted.length; at++) {
    const group = sorted[at] as number
    const keys = executor.keys(group)
    yield outputs.map((output) => readOutput(executor, group, keys, output))
  }
}

function readOutput(
  executor: ColumnExecutor,
  group: number,
  keys: readonly RawValue[],
  output: ColumnOutput,
): RawValue {
  if (output.kind === 'key') return keys[output.key] ?? null
  const part = executor.part(group, output.part)
  if (typeof part !== 'bigint') return part
  switch (output.kind) {
    case 'value':
      return part
    case 'sum':
      return fitted(part, DIGITS)
    case 'mean': {
      const count = executor.part(group, output.count)
      return typeof count === 'bigint'
        ? fitted(roundedQuotient(part * 10n ** BigInt(output.shift), count), DIGITS)
        : null
    }
  }
}
