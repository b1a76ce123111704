/** docs/settings.md, from the table of settings. */
import {
  environmentName,
  fileName,
  flagName,
  SETTINGS,
  type SettingName,
  settingNames,
} from '../../src/config/config.ts'
import { choicesOf } from '../../src/config/parsers.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/settings.md',
  render: () => `${NOTICE}

# Settings

A setting can be given as a flag, in the environment, in the [settings file](#settings-file), or under \`settings\` in the
[declarative file](configuration.md), in this order of precedence. The server refuses to start with an unknown or invalid setting,
and suggests the nearest name. \`gatehouse config\` shows the effective values and the source of each.

Variables that Kubernetes sets for Services named \`gatehouse\` or \`gatehouse-…\` are ignored: \`GATEHOUSE_SERVICE_HOST\`,
\`GATEHOUSE_PORT=tcp://…\` and the like.

| setting | environment | flag | default |
|---|---|---|---|
${settingNames().map(row).join('\n')}

## Settings file

\`GATEHOUSE_SETTINGS_FILE\` or \`--settings-file\` names a file with one setting per line, such as \`GATEHOUSE_PORT=8080\`, in the syntax of systemd's
\`EnvironmentFile\`. Gatehouse reads it without a shell, so that a value needs no quotes:

\`\`\`
# Lines that begin with # or ; are comments.
GATEHOUSE_DATABASE_URL=postgres://gatehouse:PASSWORD@db.example.com/gatehouse?sslmode=verify-full&sslrootcert=/etc/gatehouse/ca.pem
GATEHOUSE_BRAND_NAME=Example Desk
\`\`\`

A value in quotes may have several lines, or spaces at its ends; a backslash at the end of a line continues it. Other variables
than settings are set in the environment of the process, where the declarative file can refer to them. A line that is not an
assignment, which systemd would ignore, is an error. Do not let other users read the file: \`gatehouse doctor\` checks it.

## Reloading

A running server reads its settings again when it receives SIGHUP (\`systemctl reload gatehouse\`). These take effect at once:
${settingNames()
  .filter((name) => SETTINGS[name].reload === true)
  .map((name) => `[\`${fileName(name)}\`](#${fileName(name)})`)
  .join(', ')}.
The certificate and the key are read again, also if the names of their files are the same. The log names every other setting
that has changed and needs a restart. With [several workers](scaling.md#several-workers-on-one-machine) nearly all settings are
taken over, by new workers. The demonstration does not reload: SIGHUP ends it, as closing its terminal does.

## Descriptions

${settingNames().map(meaning).join('\n\n')}
`,
}

function row(name: SettingName): string {
  return `| [\`${fileName(name)}\`](#${fileName(name)}) | \`${environmentName(name)}\` | \`${flagName(name)}\` | ${shown(SETTINGS[name].default)} |`
}

function meaning(name: SettingName): string {
  const { help, parse, secret, reload } = SETTINGS[name]
  const choices = choicesOf(parse).map((choice) => `\`${choice}\``)
  const notes = [
    ...(choices.length === 0 ? [] : [` Values: ${choices.join(', ')}.`]),
    ...(secret === true ? [' Secret: never shown.'] : []),
    ...(reload === true ? [' Reloaded on SIGHUP.'] : []),
  ]
  return `### ${fileName(name)}\n\n${help}${notes.join('')} As \`${environmentName(name)}\` or \`${flagName(name)}\`.`
}

function shown(fallback: string): string {
  return fallback === '' ? 'empty' : `\`${fallback}\``
}
