/** Statements on the catalogue in a session: described and run in the process of the catalogue, listed and cancelled as others are. */
import { inTurns, STEPS_PER_PAUSE, type Steps } from '../../../lib/turns.ts'
import type {
  CatalogueCaller,
  CatalogueColumn,
  CatalogueDescription,
  CatalogueResult,
} from '../../catalogue/contract.ts'
import type { BindMessage, Format } from '../../protocol/messages.ts'
import { dataRow, rowDescription } from '../../protocol/replies.ts'
import { parameterText, toBinary } from '../../types/catalogue-values.ts'
import { sizeOfType } from '../../types/oids.ts'
import type { SessionCaller, SessionEnv } from '../contract.ts'
import type { Execution } from '../execution.ts'
import { RowStream } from '../portal/row-stream.ts'
import type { Runner } from '../runner.ts'
import { type CatalogueStatement, MOST_DESCRIBED, takeCounted } from './prepared-statement.ts'

export type BoundValues = Pick<BindMessage, 'parameterFormats' | 'values' | 'resultFormats'>

export class CatalogueStatements {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #runner: Runner

  constructor(env: SessionEnv, caller: SessionCaller, runner: Runner) {
    this.#env = env
    this.#caller = caller
    this.#runner = runner
  }

  /** Counted as a statement. */
  async describe(prepared: CatalogueStatement): Promise<CatalogueDescription> {
    if (prepared.description !== undefined) return prepared.description
    this.#runner.admit(takeCounted(prepared))
    return this.#runner.work(prepared.text, ({ signal }) => this.#describe(prepared, signal))
  }

  async execute(
    prepared: CatalogueStatement,
    message: BoundValues,
  ): Promise<{ readonly columns: readonly CatalogueColumn[]; readonly execution: Execution }> {
    let columns: readonly CatalogueColumn[] = []
    const execution = await this.#runner.executeWork(prepared.text, async (signal) => {
      const { text, declared } = prepared
      const values = await this.#toTexts(message, prepared, signal)
      const result = await this.#env.systemCatalogue.run(text, values, this.#catalogueCaller, signal, declared)
      columns = result.columns
      const encoded = await inTurns(catalogueRows(result.rows, columns, message.resultFormats))
      signal.throwIfAborted()
      return new RowStream(encoded, result.rows.length)
    })
    return { columns, execution }
  }

  async #describe(prepared: CatalogueStatement, signal: AbortSignal): Promise<CatalogueDescription> {
    if (prepared.description !== undefined) return prepared.description
    const { text, declared } = prepared
    const description = await this.#env.systemCatalogue.describe(text, declared, this.#catalogueCaller, signal)
    if (description.columns.length + description.parameters.length <= MOST_DESCRIBED) prepared.description = description
    return description
  }

  /** What the bytes of binary values mean is known from the description. */
  async #toTexts(
    { values, parameterFormats }: BoundValues,
    prepared: CatalogueStatement,
    signal: AbortSignal,
  ): Promise<(string | null)[]> {
    const isBinary = parameterFormats.includes(1)
    const types = isBinary ? (await this.#describe(prepared, signal)).parameters : prepared.declared
    return values.map((value, index) => {
      const format = parameterFormats.length === 1 ? parameterFormats[0] : parameterFormats[index]
      return value && parameterText(value, format === 1, types[index] ?? 0)
    })
  }

  get #catalogueCaller(): CatalogueCaller {
    const { scopes, subject, username, clientId } = this.#caller.principal
    // As current_user is in IQL: "token" and "oauth" are not the names of anybody.
    const user = username ?? clientId
    const { processId, cancelBackend } = this.#caller
    return { scopes, user, owner: subject, snapshot: this.#env.catalogue.snapshot, processId, cancelBackend }
  }
}

export function catalogueDescription(columns: readonly CatalogueColumn[], formats: readonly Format[]): Buffer {
  return rowDescription(
    columns.map(({ name, type, modifier }, index) => {
      const format = (formats.length === 1 ? formats[0] : formats[index]) ?? 0
      return { name, type, modifier, size: sizeOfType(type), format }
    }),
  )
}

function* catalogueRows(
  rows: CatalogueResult['rows'],
  columns: readonly CatalogueColumn[],
  formats: readonly Format[],
): Steps<Uint8Array> {
  const encoded: Uint8Array[] = []
  for (const [at, row] of rows.entries()) {
    encoded.push(dataRow(row.map((text, index) => catalogueCell(text, columns[index], formats, index))))
    if (at % STEPS_PER_PAUSE === STEPS_PER_PAUSE - 1) yield
  }
  return Buffer.concat(encoded)
}

function catalogueCell(
  text: string | null,
  column: CatalogueColumn | undefined,
  formats: readonly Format[],
  index: number,
): Uint8Array | string | null {
  const isBinary = (formats.length === 1 ? formats[0] : formats[index]) === 1
  return text === null || !isBinary || column === undefined ? text : toBinary(text, column.type)
}
