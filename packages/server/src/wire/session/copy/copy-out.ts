/** COPY … TO STDOUT: of a query or a table, in text, CSV or binary. */
import { reads } from 'gatehouse-iql'
import { copyHeader } from '../../../query/codecs.ts'
import { COPY_DONE, commandComplete, copyData, copyOutResponse } from '../../protocol/replies.ts'
import { writeNotices } from '../execution.ts'
import { type SentText, WireError } from '../failure.ts'
import { UNBOUND } from '../portal/portal.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import { IqlStatement, wireEncoding } from '../statement/iql-statement.ts'
import type { TransactionBlock } from '../transaction/block.ts'
import { type CopyCommand, chooseCopyForm } from './copy-command.ts'

/** The signature, no flags, no extension. */
const BINARY_HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const BINARY_TRAILER = Buffer.from([0xff, 0xff])

export interface CopyOutEnv {
  readonly replies: Replies
  readonly runner: Runner
  readonly block: TransactionBlock
}

export async function copyOut(
  command: CopyCommand,
  sent: SentText,
  { replies, runner, block }: CopyOutEnv,
): Promise<void> {
  const { options } = command
  const { text, at } = copyQuery(command, sent)
  runner.sent = at
  const statement = new IqlStatement(text, at, [], runner.planning)
  const bound = statement.bind(UNBOUND, runner.planning)
  if (!reads(bound.planned.bound.statement) || statement.columns.length === 0)
    throw new WireError('0A000', 'COPY copies the rows of a SELECT')
  block.requireReadable(bound.planned.bound.tables)
  const form = chooseCopyForm(
    options,
    statement.columns.map(({ name }) => name),
  )
  const isBinary = form.kind === 'copy-binary'
  const execution = await runner.execute({ ...bound, encoding: wireEncoding(form) }, text)
  try {
    writeNotices(execution, replies)
    replies.write(copyOutResponse(isBinary ? 1 : 0, statement.columns.length))
    if (isBinary) replies.beginCopy(BINARY_HEADER)
    else if (options.header !== false) replies.write(copyHeader(form, statement.columns))
    const count = await execution.send(0, replies)
    if (isBinary) replies.write(copyData(BINARY_TRAILER))
    replies.write(COPY_DONE)
    replies.write(commandComplete(`COPY ${count}`))
    execution.succeed(count)
  } catch (error) {
    replies.beginCopy(undefined)
    execution.fail(error)
    throw error
  }
}

/** Errors point into the query, or to the beginning of COPY. */
function copyQuery(
  { query, table, columns }: CopyCommand,
  sent: SentText,
): { readonly text: string; readonly at: SentText } {
  if (query !== undefined) return { text: query.text, at: { text: sent.text, offset: sent.offset + query.offset } }
  return {
    text: `SELECT ${columns.length === 0 ? '*' : columns.join(', ')} FROM ${table}`,
    at: { text: '', offset: 0 },
  }
}
