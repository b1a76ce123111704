/** docs/settings.md, from the table of settings. */
import {
  environmentName,
  fileName,
  flagName,
  SETTINGS,
  type SettingName,
  settingNames,
} from '../../packages/server/src/config/config.ts'
import { listChoices } from '../../packages/server/src/config/parsers.ts'
import { reloadKind } from '../../packages/server/src/config/reload.ts'
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

| setting | environment | flag | default | SIGHUP |
|---|---|---|---|---|
${settingNames().map(row).join('\n')}

## Settings file

\`GATEHOUSE_SETTINGS_FILE\` or \`--settings-file\` names a file with one setting per line, such as \`GATEHOUSE_PORT=8080\`, in the syntax of systemd's
\`EnvironmentFile\`. Gatehouse reads it without a shell, so that a value needs no quotes:

\`\`\`
# Lines that begin with # or ; are comments.
GATEHOUSE_DATABASE_URL=postgres://gatehouse:PASSWORD@db.example.com/gatehouse?sslmode=verify-full&sslrootcert=/etc/gatehouse/ca.pem
GATEHOUSE_BRAND_NAME=Example Desk
\`\`\`

A value in quotes may have several lines, or spaces at its ends; a backslash at the end of a line continues it. Variables that are not
settings are set in the environment of the process, where the declarative file can refer to them; \`NODE_EXTRA_CA_CERTS\` is honoured too
([your own CA](install.md#your-own-ca)). A line that is not an assignment, which systemd would ignore, is an error. Do not let other
users read the file: \`gatehouse doctor\` checks it.

## Reloading

A running server reads its settings and the declarative file again when it receives SIGHUP (\`systemctl reload gatehouse\`), and
applies the file. The column SIGHUP of the table says which settings then take effect:

- **yes**: with one process and with workers. The certificate and the key are read again, also if the names of their files are the same;
  switching TLS on or off needs a restart.
- **workers**: with [several workers](scaling.md#several-workers-on-one-machine) only, since new workers replace them. A single process
  needs a restart.
- **restart**: never.

The log names each changed setting that needs a restart. If anything cannot be used, such as an unknown setting or a damaged certificate,
the log says so and nothing changes. Flags and the environment of a process cannot change while it runs; that includes the file that
systemd reads as \`EnvironmentFile\`. To change a setting without a restart, put it into the [settings file](#settings-file) or the declarative file: both are read again. The demonstration does not reload:
SIGHUP ends it, as closing its terminal does.

## Descriptions

${settingNames().map(meaning).join('\n\n')}
`,
}

function row(name: SettingName): string {
  return `| [\`${fileName(name)}\`](#${fileName(name)}) | \`${environmentName(name)}\` | \`${flagName(name)}\` | ${shown(SETTINGS[name].default)} | ${RELOADED[reloadKind(name)]} |`
}

const RELOADED = { always: 'yes', workers: 'workers', never: 'restart' } as const

function meaning(name: SettingName): string {
  const { help, parse, secret } = SETTINGS[name]
  const choices = listChoices(parse).map((choice) => `\`${choice}\``)
  const notes = [
    ...(choices.length === 0 ? [] : [` Values: ${choices.join(', ')}.`]),
    ...(secret === true ? [' Secret: never shown.'] : []),
    ...(reloadKind(name) === 'always' ? [' Reloaded on SIGHUP.'] : []),
  ]
  return `### ${fileName(name)}\n\n${help}${notes.join('')} As \`${environmentName(name)}\` or \`${flagName(name)}\`.`
}

function shown(fallback: string): string {
  return fallback === '' ? 'empty' : `\`${fallback}\``
}
