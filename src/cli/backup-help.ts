/** Help of the commands that keep data safe. */
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
