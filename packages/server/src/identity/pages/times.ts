/** Dates and times for people: in their time zone if they have set one, with UTC on hover. */
import { type Html, html } from './html.ts'
import type { PageFrame } from './layout.ts'

/** The zone is checked when it is set, but a declarative file may contain another one: then it is UTC. */
export function date(frame: PageFrame, at: number, zone: string | undefined): Html {
  return element(frame, at, zone, { dateStyle: 'medium' })
}

export function dateAndTime(frame: PageFrame, at: number, zone: string | undefined): Html {
  return element(frame, at, zone, { dateStyle: 'medium', timeStyle: 'short' })
}

function element(
  { language }: PageFrame,
  at: number,
  zone: string | undefined,
  style: Intl.DateTimeFormatOptions,
): Html {
  const format = (timeZone: string, chosen: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language.locale, { ...chosen, timeZone }).format(at)
  const utc = `${format('UTC', { dateStyle: 'medium', timeStyle: 'short' })} UTC`
  const shown = () => (zone === undefined ? undefined : format(zone, style))
  const inUtc = 'timeStyle' in style ? utc : format('UTC', style)
  return html`<time datetime="${new Date(at).toISOString()}" title="${utc}">${orElse(shown, inUtc)}</time>`
}

function orElse(work: () => string | undefined, otherwise: string): string {
  try {
    return work() ?? otherwise
  } catch {
    return otherwise
  }
}
