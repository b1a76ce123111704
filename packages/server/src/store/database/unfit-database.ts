/** The operator has to choose or configure another database. */
export class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase'
}

const CREATE = 'create one with "gatehouse migrate --create" or "gatehouse serve"'

/** Commands never create a database: a new one would look like an empty database of the server. */
export function noDatabaseIn(dataFolder: string): UnfitDatabase {
  return new UnfitDatabase(
    `There is no database in ${dataFolder}: set GATEHOUSE_DATABASE_URL or GATEHOUSE_DATA as for the server, or GATEHOUSE_SETTINGS_FILE to the file that has them; otherwise ${CREATE}.`,
  )
}

export function noTablesIn(location: string): UnfitDatabase {
  return new UnfitDatabase(
    `The database ${location} has no Gatehouse tables: set GATEHOUSE_DATABASE_URL or GATEHOUSE_DATA as for the server; otherwise ${CREATE}.`,
  )
}
