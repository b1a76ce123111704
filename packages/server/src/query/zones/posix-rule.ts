/** The rule of a TZ variable of POSIX with two changes each year, such as EST5EDT,M3.2.0,M11.1.0. RFC 9636 §3.3.1 allows hours from -167 to 167. */

export interface PosixRule {
  /** Seconds east of UTC. */
  readonly winter: number
  changesIn(year: number): readonly { readonly at: number; readonly offset: number }[]
}

export function readPosixRule(text: string): PosixRule {
  const [names = '', toDst = '', toStandard = ''] = text.split(',')
  const match = /^(?:<[^>]+>|[A-Za-z]+)([-+\d:]+)(?:<[^>]+>|[A-Za-z]+)([-+\d:]+)?$/.exec(names)
  if (match === null) throw new Error(`${text} is not a rule of a time zone`)
  // POSIX counts west of Greenwich; daylight-saving time is an hour ahead if nothing else is written.
  const standard = -parseSeconds(match[1] ?? '')
  const dst = match[2] === undefined ? standard + 3600 : -parseSeconds(match[2])
  return {
    winter: Math.min(standard, dst),
    changesIn: (year) => {
      const changes = [
        { at: localSecond(toDst, year) - standard, offset: dst },
        { at: localSecond(toStandard, year) - dst, offset: standard },
      ]
      return changes.sort((a, b) => a.at - b.at)
    },
  }
}

/** M3.2.0/2: the second Sunday of March at two o'clock; the fifth is the last one. As a second of the local clock. */
function localSecond(rule: string, year: number): number {
  const match = /^M(\d+)\.(\d)\.(\d)(?:\/([-+\d:]+))?$/.exec(rule)
  if (match === null) throw new Error(`${rule} is not a day of a rule`)
  const [month, week, weekday] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const first = new Date(Date.UTC(year, month - 1, 1))
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate()
  let day = 1 + ((weekday - first.getUTCDay() + 7) % 7) + 7 * (week - 1)
  if (day > days) day -= 7
  return Date.UTC(year, month - 1, day) / 1000 + parseSeconds(match[4] ?? '2')
}

function parseSeconds(text: string): number {
  const [hours = '0', minutes = '0', seconds = '0'] = text.replace(/^[-+]/, '').split(':')
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return text.startsWith('-') ? -size : size
}
