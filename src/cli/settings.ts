/** Loads the settings of a command: flags override the environment, which overrides the declarative file. */
import { environmentName, flagName } from '../config/config.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import type { Arguments } from './args.ts'

export async function loadSettings({ settings: flags }: Arguments): Promise<LoadedConfig> {
  const environment = process.env
  const path = flags[flagName('config')] ?? environment[environmentName('config')] ?? ''
  if (path === '') return loadConfig({ environment, flags })
  const { readDeclaration, settingsOf } = await import('../declarative/read.ts')
  return loadConfig({ environment, flags, file: settingsOf(readDeclaration(path), environment) })
}
