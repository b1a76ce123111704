/** Writes on a connection of their own: several statements as one transaction, tried again where another one won, and stopped on demand. */
import type { PoolClient } from 'pg'
import type { Bindable, Once, WriteOutcome, WriteReply, WriteRequest } from '../engine.ts'
import { ReturnedRows } from '../returned-rows.ts'
import { iqlError } from '../runtime-error.ts'
import { asRefusal, isOutdated, isTransient } from './failure.ts'
import { borrow, type Take } from './pool.ts'
import { type RowReader, rowReader } from './representation.ts'
import { answering, claiming, recall } from './requests.ts'
import { BEGIN, COMMIT, type RawRow, type TrainStatement, travel } from './train.ts'

const ATTEMPTS = 5
/** Statements of one write that travel together. */
const MOST_AT_ONCE = 200

export async function write(take: Take, request: WriteRequest): Promise<WriteReply> {
  const { signal } = request.running
  for (let attempt = 1; ; attempt++) {
    const { client, giveBack } = await borrow(take, signal)
    let isBroken = false
    try {
      return isOneStatement(request) ? await runAlone(client, request) : await runWhole(client, request)
    } catch (error) {
      if (!isOneStatement(request))
        await client.query('ROLLBACK').catch(() => {
          isBroken = true
        })
      if ((isTransient(error) || isOutdated(error)) && attempt < ATTEMPTS && !signal.aborted) continue
      throw signal.aborted ? signal.reason : (asRefusal(error) ?? error)
    } finally {
      await giveBack(isBroken)
    }
  }
}

/** Nothing to undo but itself: the server makes it whole or not at all, and durable before it is ready for another. */
export function isOneStatement({ steps, once, isChecked, mustBeWhole }: WriteRequest): boolean {
  return once === undefined && !isChecked && !mustBeWhole && steps.length === 1 && steps[0]?.parameterSets.length === 1
}

async function runAlone(client: PoolClient, request: WriteRequest): Promise<WriteReply> {
  const written = new Written(request)
  await mustTravel(client, written.statements())
  return { outcome: written.outcome(), isRepeated: false }
}

async function runWhole(client: PoolClient, request: WriteRequest): Promise<WriteReply> {
  const written = new Written(request)
  const act = async (lead: readonly TrainStatement[]): Promise<WriteOutcome> => {
    await travelAll(client, [...lead, ...written.statements()])
    return written.outcome()
  }
  if (request.once !== undefined) {
    await mustTravel(client, [BEGIN])
    return remembering(client, request.once, () => act([]))
  }
  const outcome = await act([BEGIN])
  await mustTravel(client, [COMMIT])
  return { outcome, isRepeated: false }
}

/** What happened when the key was first used, or what happens now; ends the transaction. */
export async function remembering(
  client: PoolClient,
  once: Once,
  act: () => Promise<WriteOutcome>,
): Promise<WriteReply> {
  let isClaimed = false
  const claim = claiming(once, (rowsAffected) => {
    isClaimed = rowsAffected === 1
  })
  await mustTravel(client, [claim])
  if (!isClaimed) {
    const known = await recall(client, once)
    if (known === undefined) throw new Error('A key that is taken but not known')
    await mustTravel(client, [COMMIT])
    return { outcome: known, isRepeated: true }
  }
  const outcome = await act()
  await mustTravel(client, [answering(once, outcome), COMMIT])
  return { outcome, isRepeated: false }
}

async function travelAll(client: PoolClient, statements: readonly TrainStatement[]): Promise<void> {
  for (let start = 0; start < statements.length; start += MOST_AT_ONCE)
    await mustTravel(client, statements.slice(start, start + MOST_AT_ONCE))
}

async function mustTravel(client: PoolClient, statements: readonly TrainStatement[]): Promise<void> {
  const failure = await travel(client, statements)
  if (failure !== undefined) throw failure.error
}

/** What a write has written, gathered from the rows that its statements return. */
export class Written {
  readonly #request: WriteRequest
  readonly #readRow: RowReader
  readonly #returned: ReturnedRows
  #rowsAffected = 0
  #isHidden = false

  constructor(request: WriteRequest) {
    this.#request = request
    this.#readRow = rowReader(request.returning)
    this.#returned = new ReturnedRows(request)
  }

  statements(): TrainStatement[] {
    const onRow = (row: RawRow): void => this.#add(row)
    const onDone = (rowsAffected: number): void => {
      this.#rowsAffected += rowsAffected
    }
    return this.#request.steps.flatMap(({ sql, parameterSets }) =>
      parameterSets.map((parameters: readonly Bindable[]) => ({ sql, parameters, onRow, onDone })),
    )
  }

  outcome(): WriteOutcome {
    if (this.#isHidden) throw iqlError('RowFilter', 'A row would be written that its writer may not read')
    return this.#returned.outcome(this.#rowsAffected)
  }

  #add(raw: RawRow): void {
    if (this.#request.isChecked && raw.pop() !== 't') this.#isHidden = true
    this.#returned.add(() => this.#readRow(raw))
  }
}
