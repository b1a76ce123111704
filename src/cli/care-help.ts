/** Help of the commands that take care of data. */
export const BACKUP_HELP = `
The folder must not exist yet. It will hold the keys of this installation: keep it as safe as the data folder.

  --json    Say what was written as JSON.

  gatehouse backup /var/backups/gatehouse/monday
  gatehouse backup ./before-upgrade --data /var/lib/gatehouse
`

export const RESTORE_HELP = `
The data folder must be empty, and so must be the database where there is one. Nothing is ever overwritten.

  --json    Say what was read as JSON.

  gatehouse restore /var/backups/gatehouse/monday --data /var/lib/gatehouse
`

export const MIGRATE_HELP = `
Nodes that start together migrate one after the other; each change is made whole or not at all.

  --dry-run  try every change that is due on the real data and take it back
  --json     the changes as JSON

  gatehouse migrate --dry-run
  gatehouse migrate --database-url postgres://gatehouse@db/gatehouse
`

export const DOCTOR_HELP = `
Run it as the user, and with the settings, of the server. The status is 1 when anything is broken, 0 with warnings alone.

  --json  the findings as JSON

  gatehouse doctor
  gatehouse doctor --config /etc/gatehouse/gatehouse.yaml
`
