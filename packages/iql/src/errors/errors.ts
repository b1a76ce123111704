/** The errors of IQL: a table of stable codes. */
import { STATUSES } from './statuses.ts'

export interface ErrorEntry {
  /** HTTP status. */
  readonly status: number
  /** PostgreSQL's code, for its clients. */
  readonly sqlstate: string
  readonly title: string
  /** What the author of the statement can do. */
  readonly advice: string
}

/** Keys are the codes without the prefix `IQL.`. Engines raise those of the last block at run time. */
export const ERRORS = {
  Syntax: entry('42601', 'The statement cannot be parsed', 'Expected lists what can follow at that position.'),
  TooLong: entry('54000', 'The statement is too long', 'Shorten it, or pass large values as parameters.', 'TooLong'),
  TooComplex: entry('54001', 'The statement is too complex', 'Split it, or nest less. The message names the limit.'),

  UnknownTable: entry('42P01', 'No such table', 'SHOW TABLES lists the tables that you may read.'),
  UnknownColumn: entry('42703', 'No such column', 'DESCRIBE lists the columns of a table. See Hint.'),
  UnknownFunction: entry('42883', 'No such function', 'The documentation of IQL lists the functions.'),
  UnknownType: entry(
    '42704',
    'No such type',
    'Use Text, Integer, Decimal(p, s), Double, Boolean, Timestamp, Date, Time, Uuid, Json or Binary.',
  ),
  UnknownIndex: entry('42704', 'No such index', 'Check the name of the index.'),
  AmbiguousColumn: entry(
    '42702',
    'The column exists in several tables',
    'Write the table or its alias before the column.',
  ),
  DuplicateColumn: entry('42701', 'A column appears twice', 'Give each its own name with AS, or name it once.'),
  DuplicateTable: entry('42712', 'A table or alias appears twice', 'Give each use its own alias.'),
  DuplicateIndex: entry('42P07', 'An index with this name exists', 'Choose another name.', 'DuplicateIndex'),
  TableExists: entry(
    '42P07',
    'A table with this name exists',
    'Choose another name, or write IF NOT EXISTS.',
    'TableExists',
  ),
  BadName: entry(
    '42602',
    'The name cannot be used',
    'A name has 1 to 63 bytes in UTF-8, the name of an index 1 to 53.',
  ),

  TypeMismatch: entry('42804', 'The types do not match', 'Convert one side with CAST.'),
  BadArguments: entry('42883', 'The arguments do not match the function', 'Expected lists the signatures.'),
  BadLiteral: entry('22P02', 'The literal is not valid for its type', 'The message describes the format.'),
  BadType: entry(
    '42704',
    'The type cannot be used here',
    'A Decimal has at most 38 digits. Interval and LocalTimestamp are not column types.',
  ),
  ParameterType: entry(
    '42P18',
    'The type of a parameter is unknown',
    'Write CAST(:name AS Type), or compare it with a column.',
  ),
  MissingParameter: entry('08P01', 'A parameter has no value', 'Pass a value for every parameter of the statement.'),
  UnknownParameter: entry(
    '42P02',
    'A value was passed for an unknown parameter',
    'Use the parameter in the statement, or omit the value.',
  ),
  BadValue: entry('22P02', 'The value does not fit its type', 'Correct the value that the message names.', 'BadValue'),

  NotGrouped: entry(
    '42803',
    'The column is neither grouped nor aggregated',
    'Name it in GROUP BY, or put it in an aggregate.',
  ),
  MisplacedAggregate: entry(
    '42803',
    'An aggregate is not allowed here',
    'Aggregates are allowed in SELECT, HAVING and ORDER BY. Filter groups with HAVING.',
  ),
  MisplacedWindow: entry(
    '42P20',
    'A window function is not allowed here',
    'Window functions are allowed in SELECT, QUALIFY and ORDER BY. Filter their results with QUALIFY.',
  ),
  BadOrder: entry(
    '42P10',
    'The result cannot be ordered by this',
    'Order by a result column, its number, or an expression in the result.',
  ),
  BadLimit: entry('42804', 'LIMIT and OFFSET take a whole number', 'Write a number, 0 or greater, or a parameter.'),
  ColumnCount: entry('42601', 'The numbers of columns differ', 'Give both sides the same number of columns.'),
  BadJoin: entry(
    '42P10',
    'The join condition cannot be used',
    'ASOF JOIN takes equalities and exactly one of >=, >, <=, <.',
  ),

  NotWritable: entry('42809', 'The table is read-only', 'Write to another table.', 'NotWritable'),
  Forbidden: entry(
    '42501',
    'A scope is missing',
    'Request a token with the scope that the message names.',
    'Forbidden',
  ),
  MissingColumn: entry(
    '23502',
    'A column needs a value',
    'Give a value for every column that is NOT NULL and has no default.',
  ),
  NotNull: entry('23502', 'The column cannot be NULL', 'Give a value.'),
  BadConflict: entry(
    '42P10',
    'ON CONFLICT does not name a key',
    'Name the columns of the primary key or of a UNIQUE constraint.',
  ),
  NotLive: entry('0A000', 'The statement cannot be live', 'The message says which part prevents it. See Hint.'),
  BadDefinition: entry('42P17', 'The definition is not valid', 'The message says why.'),
  SystemTable: entry('42501', 'A system table cannot be changed', 'Create a table of your own.', 'SystemTable'),

  DivisionByZero: entry('22012', 'Division by zero', 'Guard the divisor: a / NULLIF(b, 0).'),
  Overflow: entry('22003', 'A number is out of the range of its type', 'Cast to a wider type before calculating.'),
  Underflow: entry(
    '22003',
    'A number is too small for its type',
    'Scale the numbers up before calculating, or calculate with Decimals.',
  ),
  ManyRows: entry('21000', 'A sub-query used as a value returned more than one row', 'Add LIMIT 1, or an aggregate.'),
  RowTwice: entry(
    '21000',
    'One INSERT would change a row twice',
    'Give each key of ON CONFLICT only once.',
    'RowTwice',
  ),
  RowFilter: entry(
    '42501',
    'The row would not be visible to its writer',
    'Write only rows that you may read.',
    'RowFilter',
  ),
} as const satisfies Record<string, ErrorEntry>

export type ErrorName = keyof typeof ERRORS

function entry(sqlstate: string, title: string, advice: string, status?: keyof typeof STATUSES): ErrorEntry {
  return { status: status === undefined ? 400 : STATUSES[status], sqlstate, title, advice }
}
