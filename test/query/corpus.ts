/** Corpus files: human-readable statements with their results, run on every engine. */
import type { Json } from '../../packages/server/src/lib/exact-json.ts'
import { readJson, writeJson } from '../../packages/server/src/query/json.ts'
import type { QueryServer } from './query-server.ts'

/**
 * Blocks are separated by empty lines. A block is a statement and, on lines that begin with `>`, its result: the columns with their
 * types (`?` for those that may be NULL), then one row per line as JSON; or `! Code` for an error; or `= n` for the rows that a
 * write affected. A block without such lines only has to succeed. Lines that begin with `#` are comments.
 */
export interface Block {
  readonly line: number
  readonly remarks: readonly string[]
  readonly statement: string
  readonly expected: readonly string[]
}

export function readCorpus(text: string): Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  let remarks: string[] = []
  let statement: string[] = []
  let expected: string[] = []
  let start = 1
  for (const [index, line] of [...lines, ''].entries()) {
    if (line.startsWith('#')) remarks.push(line)
    else if (line.startsWith('>')) expected.push(line.slice(2))
    else if (line.trim() !== '') {
      if (statement.length === 0) start = index + 1
      statement.push(line)
    } else if (statement.length > 0 || remarks.length > 0) {
      blocks.push({ line: start, remarks, statement: statement.join('\n'), expected })
      remarks = []
      statement = []
      expected = []
    }
  }
  return blocks
}

export function writeCorpus(blocks: readonly Block[]): string {
  const texts = blocks.map(({ remarks, statement, expected }) =>
    [...remarks, ...(statement === '' ? [] : [statement]), ...expected.map((line) => `> ${line}`)].join('\n'),
  )
  return `${texts.join('\n\n')}\n`
}

export interface Answer {
  /** As a corpus file writes it. */
  readonly lines: readonly string[]
  /** What must be the same on every engine, to the byte. */
  readonly bytes: string
}

export async function ask(server: QueryServer, statement: string): Promise<Answer> {
  const response = await fetch(`${server.url}/query?rows=arrays`, {
    method: 'POST',
    body: statement,
    headers: { authorization: 'Bearer admin', 'content-type': 'text/plain; charset=utf-8' },
  })
  const text = await response.text()
  const body = JSON.parse(text)
  if (response.status !== 200) {
    const { Code = 'no code', detail = '', Position } = body
    const lines = [`! ${Code}${Position === undefined ? '' : ` @${Position.Offset}`}`]
    return {
      lines: response.status >= 500 ? [`! ${response.status} ${detail}`] : lines,
      bytes: `${response.status} ${Code} ${JSON.stringify(Position)} ${detail}`,
    }
  }
  const { RowsAffected } = body
  const { Columns, Rows } = readJson(text) as unknown as {
    Columns: Record<string, { Type: string; Nullable: boolean }>
    Rows: Json[]
  }
  const columns = Object.entries(Columns).map(([name, { Type, Nullable }]) => `${name} ${Type}${Nullable ? '?' : ''}`)
  const rows = Rows.map((row) =>
    writeJson(row)
      .slice(1, -1)
      .replaceAll(/,(?=["\d\-tfn[{])/g, ', '),
  )
  const written = RowsAffected === undefined ? [] : [`= ${RowsAffected}`]
  return {
    lines: [...written, ...(columns.length === 0 ? [] : [columns.join(', '), ...rows])],
    bytes: text.slice(0, text.lastIndexOf(',"RequestId"')),
  }
}
