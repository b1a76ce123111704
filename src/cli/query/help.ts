/** What --help says of the commands that talk to the query service; apart, so that other commands do not load them. */

const CONNECTION = `  --server URL          where the server is; GATEHOUSE_SERVER, or http://localhost:5080, when left out
  --username NAME       signs this user in through the token endpoint; the password is asked for
  --password-file FILE  takes the password from the first line of a file
  --client ID           the client to sign in as; demo-cli when left out
  --token-file FILE     takes the access token from the first line of a file

Without --username and --token-file the login of "gatehouse login" is used.
`

export const QUERY_HELP = `
  STATEMENT             one IQL statement; without it, or as "-", it is read from stdin
  -p, --parameter NAME=VALUE
                        a value for :NAME, or for $1 as 1=VALUE; may be given again
  --json                the result as JSON, as the service sends it
  --csv                 the result as CSV
${CONNECTION}
  gatehouse query "SELECT symbol, price FROM trades ORDER BY executed_at DESC LIMIT 10"
  gatehouse query --csv -p symbol=BHP "SELECT * FROM trades WHERE symbol = :symbol" > bhp.csv
  gatehouse query --username alice < report.iql
`

export const IMPORT_HELP = `
  FILE                  a CSV file whose first line names the columns
  --table NAME          the table that takes the rows
  --create              makes the table when there is none, with the types that were guessed
  --key COLUMN          with --create: a column of the primary key; may be given again
  --type COLUMN=TYPE    with --create: the type of a column in place of the guess; may be given again
  --dry-run             shows the types and stops
  --rejected FILE       where rows that do not fit go, with the reason; FILE.rejected.csv when left out
  --restart             forgets what an earlier, broken import of this file has done
  --batch ROWS          rows sent at once; 500 when left out
${CONNECTION}
An import that was broken off goes on where it was when the command is given again: FILE.import.json remembers the place,
and no row is inserted twice. The status is 1 when rows were rejected.

  gatehouse import trades.csv --table trades
  gatehouse import trades.csv --table trades --create --key id --type price="Decimal(12, 4)"
`

export const EXPORT_HELP = `
  STATEMENT             what to export; or --table NAME for a whole table
  --table NAME          exports this table
  --format FORMAT       csv, ndjson or arrow; by the name of the file when left out, else csv
  --output FILE         the file to write; it appears when it is whole. stdout when left out
  -p, --parameter NAME=VALUE
                        a value for :NAME; may be given again
${CONNECTION}
  gatehouse export --table trades --output trades.csv
  gatehouse export "SELECT * FROM trades WHERE symbol = 'BHP'" --output bhp.arrow
  gatehouse export --table trades --format ndjson | gzip > trades.ndjson.gz
`
