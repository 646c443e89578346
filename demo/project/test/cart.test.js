import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../src/cart.js";

test("an empty cart costs nothing", () => assert.equal(total([]), 0));
test("prices are added", () => assert.equal(total([{ price: 3 }, { price: 4 }]), 7));
test("three of a kind cost three times as much", () => assert.equal(total([{ price: 5, quantity: 3 }]), 15));
