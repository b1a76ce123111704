/** `gatehouse doctor`: what was looked at, what is wrong, what to do. */
import { BadSetting } from '../setting-parsers.ts'
import { Usage } from './command.ts'
import { examine } from './doctor/doctor.ts'
import { type Finding, fault } from './doctor/finding.ts'
import { readSettings } from './settings.ts'

const MARKS = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const

export async function doctor(args: readonly string[]): Promise<void> {
  const json = args.includes('--json')
  const findings = await findingsOf(args)
  if (json) process.stdout.write(`${JSON.stringify({ findings }, null, 2)}\n`)
  else for (const finding of findings) process.stdout.write(written(finding))
  if (findings.some(({ level }) => level === 'fault')) process.exitCode = 1
}

/** Settings that cannot be read are the first thing a doctor finds. */
async function findingsOf(args: readonly string[]): Promise<Finding[]> {
  try {
    const { config, rest } = await readSettings(args, { '--json': 'switch' })
    if (rest.length > 0) throw new Usage(`doctor takes settings only, not "${rest[0]}"`)
    return await examine(config)
  } catch (error) {
    if (!(error instanceof BadSetting) && !(error instanceof Error && error.name === 'BadDeclaration')) throw error
    return [fault('settings.unreadable', error.message, 'Mend the setting; "gatehouse config" shows all of them.')]
  }
}

function written({ level, code, message, mend }: Finding): string {
  return `${MARKS[level]}  ${message} [${code}]\n${mend === undefined ? '' : `         → ${mend}\n`}`
}
