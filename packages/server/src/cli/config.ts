/** `gatehouse config`: the settings in effect, and where each comes from. */
import { environmentName, fileName, flagName, SETTINGS, type SettingName, settingNames } from '../config/config.ts'
import { chooseIssuer } from '../config/issuer.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Arguments } from './args.ts'
import { printTable } from './output/table.ts'
import { loadSettings } from './settings.ts'

const MASK = '********'

export async function config(args: Arguments): Promise<void> {
  const loaded = await loadSettings(args)
  if (args.has('--json')) {
    const entries = settingNames().map((name) => [
      fileName(name),
      { value: shown(name, loaded), source: loaded.sources[name] },
    ])
    process.stdout.write(`${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
    return
  }
  printTable(
    ['SETTING', 'VALUE', 'FROM'],
    settingNames().map((name) => [fileName(name), shown(name, loaded), origin(name, loaded)]),
  )
}

function shown(name: SettingName, { texts, config }: LoadedConfig): string {
  if (texts[name] !== '' && SETTINGS[name].secret === true) return MASK
  return name === 'issuer' ? chooseIssuer(config) : texts[name]
}

function origin(name: SettingName, { sources, config }: LoadedConfig): string {
  switch (sources[name]) {
    case 'default':
      return 'default'
    case 'file':
      return `file ${config.config}`
    case 'settings_file':
      return `${environmentName(name)} in ${config.settingsFile}`
    case 'environment':
      return environmentName(name)
    case 'flag':
      return flagName(name)
  }
}
