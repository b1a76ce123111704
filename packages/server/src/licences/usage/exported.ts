/** The usage report from an exported audit log, whose chain is verified: the same bytes as the server's. */
import { BadExport, ExportedChain, type ExportedRow } from '../../store/audit/exported.ts'
import type { Month } from './month.ts'
import { USAGE_EVENTS, UsageReport, type UsageRow } from './report.ts'

export interface ExportedUsage {
  readonly head: { readonly seq: number; readonly hash: string; readonly at: string }
  readonly rows: readonly UsageRow[]
}

/** Throws BadExport, which names the row that is missing or was altered. `lines` are the whole log, up to `head` at least. */
export async function usageFromExport(
  lines: AsyncIterable<string>,
  month: Month,
  { product, head }: { readonly product?: string | undefined; readonly head?: number | undefined },
): Promise<ExportedUsage> {
  const report = new UsageReport(month, product)
  const chain = new ExportedChain()
  let last: ExportedRow | undefined
  for await (const line of lines) {
    if (line.trim() === '') continue
    const row = chain.read(line)
    if (head !== undefined && row.seq > head) break
    last = row
    if (USAGE_EVENTS.includes(row.event)) report.add(row)
  }
  if (last === undefined) throw new BadExport('The file has no rows')
  if (head !== undefined && last.seq !== head) throw new BadExport(`The file ends at row ${last.seq}, before ${head}`)
  chain.requireBeginning(month.start)
  return { head: { seq: last.seq, hash: last.hash, at: last.atText }, rows: report.rows(last.at) }
}
