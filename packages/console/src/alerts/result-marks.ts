/** The thresholds and firings of the user's alerts over a statement, for its chart. */
import type { Alert } from '../../../client/src/index.ts'
import { type ChartMarks, type ChartMoment, NO_MARKS } from '../chart/marks.ts'
import { gate } from '../gate.ts'
import { findThresholds } from './draft.ts'

const MOST_ALERTS = 5
const MOST_MOMENTS = 200

export async function readMarks(statement: string, signal: AbortSignal): Promise<ChartMarks> {
  const wanted = normalized(statement)
  const found: Alert[] = []
  for await (const alert of gate.alerts.list({}, { signal })) {
    if (normalized(alert.statement) === wanted) found.push(alert)
    if (found.length === MOST_ALERTS) break
  }
  if (found.length === 0) return NO_MARKS
  const moments = await Promise.all(found.map(({ id }) => readMoments(id, signal)))
  return {
    levels: found.flatMap(({ name, when = '', until = '' }) =>
      [...findThresholds(when), ...findThresholds(until)].map(({ column, value }) => ({ column, value, label: name })),
    ),
    moments: moments.flat(),
  }
}

async function readMoments(id: string, signal: AbortSignal): Promise<readonly ChartMoment[]> {
  const moments: ChartMoment[] = []
  for await (const { at, type } of gate.alerts.history(id, { signal })) {
    if (type === 'firing' || type === 'event') moments.push({ at: Date.parse(at), isBeginning: true })
    else if (type === 'resolved') moments.push({ at: Date.parse(at), isBeginning: false })
    if (moments.length === MOST_MOMENTS) break
  }
  return moments
}

function normalized(statement: string): string {
  return statement.replace(/\s+/g, ' ').replace(/;\s*$/, '').trim().toLowerCase()
}
