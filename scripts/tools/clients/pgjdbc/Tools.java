/** pgjdbc: DatabaseMetaData, every type both ways, fetch sizes (portals), batches, COPY, cancel. */
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Properties;
import java.util.TreeSet;
import java.util.UUID;
import org.postgresql.PGConnection;

public final class Tools {
  private static String setting(String name) {
    return System.getenv(name);
  }

  private static Connection connect(String options) throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("user", setting("PGUSER"));
    properties.setProperty("password", setting("PGPASSWORD"));
    String url = "jdbc:postgresql://" + setting("PGHOST") + ":" + setting("PGPORT") + "/" + setting("PGDATABASE");
    return DriverManager.getConnection(url + "?ApplicationName=tools" + options, properties);
  }

  public static void main(String[] args) throws Exception {
    try (Connection connection = connect("")) {
      describe(connection.getMetaData());
    }
    for (String options : new String[] {"", "&prepareThreshold=-1", "&preferQueryMode=simple", "&binaryTransfer=false"}) {
      try (Connection connection = connect(options)) {
        values(connection, options.contains("simple"));
      }
    }
    try (Connection connection = connect("&defaultRowFetchSize=100")) {
      read(connection);
      cancel(connection);
    }
    System.out.println("pgjdbc: ok");
  }

  private static void describe(DatabaseMetaData data) throws SQLException {
    expect(data.getDatabaseMajorVersion() == 15, "version " + data.getDatabaseProductVersion());
    count(data.getCatalogs());
    count(data.getSchemas());
    count(data.getSchemas(null, "public"));
    count(data.getTableTypes());
    count(data.getTypeInfo());
    TreeSet<String> tables = new TreeSet<>();
    try (ResultSet rows = data.getTables(null, "public", "%", new String[] {"TABLE", "VIEW", "MATERIALIZED VIEW"})) {
      while (rows.next()) tables.add(rows.getString("TABLE_NAME"));
    }
    expect(tables.containsAll(Arrays.asList("instruments", "quotes", "trades")), tables.toString());
    count(data.getTables(null, null, "%", null));
    count(data.getTables(setting("PGDATABASE"), "public", "trades", new String[] {"TABLE"}));
    expect(count(data.getColumns(null, "public", "trades", "%")) == 7, "columns of trades");
    count(data.getColumns(null, "public", "%", null));
    expect(count(data.getPrimaryKeys(null, "public", "quotes")) == 2, "key of quotes");
    count(data.getImportedKeys(null, "public", "trades"));
    count(data.getExportedKeys(null, "public", "trades"));
    count(data.getCrossReference(null, "public", "trades", null, "public", "quotes"));
    expect(count(data.getIndexInfo(null, "public", "trades", false, true)) > 0, "indexes of trades");
    count(data.getIndexInfo(null, "public", "quotes", true, false));
    count(data.getBestRowIdentifier(null, "public", "trades", DatabaseMetaData.bestRowSession, true));
    count(data.getVersionColumns(null, "public", "trades"));
    count(data.getTablePrivileges(null, "public", "trades"));
    count(data.getColumnPrivileges(null, "public", "trades", "%"));
    count(data.getProcedures(null, "public", "%"));
    count(data.getProcedureColumns(null, "public", "%", "%"));
    count(data.getFunctions(null, "public", "%"));
    count(data.getFunctionColumns(null, "public", "%", "%"));
    count(data.getUDTs(null, "public", "%", null));
    count(data.getClientInfoProperties());
    data.getMaxColumnNameLength();
    data.getMaxColumnsInIndex();
    data.getSQLKeywords();
    data.getNumericFunctions();
    data.getStringFunctions();
    data.getTimeDateFunctions();
    data.getDefaultTransactionIsolation();
    data.getConnection().getTransactionIsolation();
    data.getConnection().getSchema();
    data.getConnection().getCatalog();
    data.getConnection().isValid(5);
    data.getConnection().isReadOnly();
  }

  private static void values(Connection connection, boolean isSimple) throws SQLException {
    for (int run = 0; run < 7; run++) { // From the sixth on, the statement is prepared and its results are binary.
      same(connection, "text", "a'b\\c \u20ac", String.class);
      same(connection, "int8", Long.MAX_VALUE, Long.class);
      same(connection, "int8", Long.MIN_VALUE, Long.class);
      same(connection, "numeric(18,4)", new BigDecimal("12345678901234.5678"), BigDecimal.class);
      same(connection, "float8", 0.1, Double.class);
      same(connection, "bool", true, Boolean.class);
      same(connection, "date", LocalDate.of(2024, 2, 29), LocalDate.class);
      same(connection, "time", LocalTime.of(23, 59, 59, 999_999_000), LocalTime.class);
      if (!isSimple) // There it writes ::timestamp, which is a time in UTC for Gatehouse.
        same(connection, "timestamp without time zone", LocalDateTime.of(2026, 3, 29, 2, 30), LocalDateTime.class);
      OffsetDateTime moment = OffsetDateTime.of(2026, 1, 5, 8, 0, 0, 123_456_000, ZoneOffset.UTC);
      same(connection, "timestamptz", moment, OffsetDateTime.class);
      same(connection, "uuid", UUID.fromString("6f0f9a3c-2f5e-4c1b-9d53-0a7c3f9d2b11"), UUID.class);
      try (PreparedStatement statement = connection.prepareStatement("SELECT ?::bytea")) {
        byte[] bytes = {0, -1, 92};
        statement.setBytes(1, bytes);
        ResultSet rows = statement.executeQuery();
        rows.next();
        expect(Arrays.equals(rows.getBytes(1), bytes), "bytea");
      }
    }
  }

  private static <T> void same(Connection connection, String kind, T value, Class<T> type) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("SELECT ?::" + kind + " AS value")) {
      statement.setObject(1, value);
      ResultSet rows = statement.executeQuery();
      rows.next();
      T got = rows.getObject(1, type);
      expect(value.equals(got), kind + ": " + got + " instead of " + value);
    }
  }

  private static void read(Connection connection) throws Exception {
    try (PreparedStatement statement =
        connection.prepareStatement("SELECT id, symbol, price FROM trades WHERE symbol = ? AND executed_at > ?")) {
      statement.setString(1, "ACME");
      statement.setObject(2, OffsetDateTime.of(2026, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC));
      expect(statement.getMetaData().getColumnTypeName(3).equals("numeric"), "price");
      String parameter = statement.getParameterMetaData().getParameterTypeName(1);
      expect(parameter.equals("text") || parameter.equals("varchar"), parameter);
      expect(count(statement.executeQuery()) > 0, "trades of ACME");
    }
    try (PreparedStatement statement = connection.prepareStatement("SELECT count(*) FROM trades WHERE symbol = ANY(?)")) {
      statement.setArray(1, connection.createArrayOf("text", new String[] {"ACME", "BOLT"}));
      expect(count(statement.executeQuery()) == 1, "array");
    }
    connection.setAutoCommit(false); // Portals need a transaction block.
    try (Statement statement = connection.createStatement()) {
      expect(count(statement.executeQuery("SELECT * FROM trades ORDER BY id")) == 4000, "portal");
      ResultSet rows = statement.executeQuery("SELECT * FROM quotes");
      rows.next();
      expect(rows.getMetaData().isNullable(1) == java.sql.ResultSetMetaData.columnNoNulls, "isNullable");
      expect(!rows.getMetaData().isAutoIncrement(1), "isAutoIncrement");
      expect(rows.getMetaData().getTableName(1).equals("quotes"), "getTableName");
      org.postgresql.PGResultSetMetaData own = (org.postgresql.PGResultSetMetaData) rows.getMetaData();
      expect(own.getBaseTableName(1).equals("quotes") && own.getBaseColumnName(1).equals("symbol"), "getBaseTableName");
      rows.close();
    }
    connection.commit();
    connection.setAutoCommit(true);
    StringWriter copied = new StringWriter();
    connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY instruments TO STDOUT (FORMAT csv)", copied);
    expect(copied.toString().contains("ACME"), "copy");
  }

  private static void cancel(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(1);
      statement.executeQuery("SELECT count(*) FROM trades a, trades b, trades c WHERE a.price + b.price < c.price");
      throw new AssertionError("not cancelled");
    } catch (SQLException error) {
      expect("57014".equals(error.getSQLState()), error.toString());
    }
  }

  private static int count(ResultSet rows) throws SQLException {
    int count = 0;
    try (rows) {
      while (rows.next()) count++;
    }
    return count;
  }

  private static void expect(boolean isTrue, String what) {
    if (!isTrue) throw new AssertionError(what);
  }
}
