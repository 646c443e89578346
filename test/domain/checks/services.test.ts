import { expect, test } from "bun:test";
import { findServices } from "../../../src/domain/checks/verdict.ts";

test.each<[string, string[]]>([
  ["Error: connect ECONNREFUSED 127.0.0.1:5432", ["PostgreSQL (port 5432)"]],
  [
    'connection to server at "localhost" (::1), port 5432 failed: Connection refused',
    ["PostgreSQL (port 5432)"],
  ],
  ["redis: Error 111 connecting to localhost:6379. Connection refused.", ["Redis (port 6379)"]],
  ["dial tcp [::1]:27017: connect: connection refused", ["MongoDB (port 27017)"]],
  ["Can't connect to MySQL server on '127.0.0.1:3306' (111)", ["MySQL (port 3306)"]],
  ["connect ECONNREFUSED 127.0.0.1:41235", []],
  ["listening at localhost:5432\nAssertionError: 1 != 2", []],
])("the service is named by the port that refused: %s", (output, services) => {
  expect(findServices(["", output])).toEqual(services);
});
