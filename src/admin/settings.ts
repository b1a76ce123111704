/** The settings in force, as an administrator may see them: where each came from, and no secret. */
import { environmentName, fileName, type LoadedConfig, SETTINGS, settingNames } from '../config.ts'
import type { SettingInForce } from './ports.ts'

const MASK = '********'

export function showSettings({ texts, sources }: Pick<LoadedConfig, 'texts' | 'sources'>): SettingInForce[] {
  return settingNames().map((name) => ({
    name: fileName(name),
    environment: environmentName(name),
    value: texts[name] !== '' && 'secret' in SETTINGS[name] && SETTINGS[name].secret ? MASK : texts[name],
    source: sources[name],
  }))
}
