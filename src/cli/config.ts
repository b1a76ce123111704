/** `gatehouse config`: the settings in force, and where each came from. */
import { environmentName, fileName, flagName, issuerOf, SETTINGS, type SettingName, settingNames } from '../config.ts'
import { Usage } from './command.ts'
import { type CommandLine, readSettings } from './settings.ts'
import { printTable } from './table.ts'

const MASK = '********'

export async function config(args: readonly string[]): Promise<void> {
  const line = await readSettings(args, { '--json': 'switch' })
  if (line.rest.length > 0) throw new Usage(`config takes settings only, not "${line.rest[0]}"`)
  if (line.options.has('--json')) {
    const entries = settingNames().map((name) => [
      fileName(name),
      { value: shown(name, line), source: line.sources[name] },
    ])
    process.stdout.write(`${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
    return
  }
  printTable(
    ['SETTING', 'VALUE', 'FROM'],
    settingNames().map((name) => [fileName(name), shown(name, line), origin(name, line)]),
  )
}

function shown(name: SettingName, { texts, config }: CommandLine): string {
  if (texts[name] !== '' && SETTINGS[name].secret === true) return MASK
  return name === 'issuer' ? issuerOf(config) : texts[name]
}

function origin(name: SettingName, { sources, config }: CommandLine): string {
  switch (sources[name]) {
    case 'default':
      return 'default'
    case 'file':
      return `file ${config.config}`
    case 'environment':
      return environmentName(name)
    case 'flag':
      return flagName(name)
  }
}
