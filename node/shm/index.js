"use strict";
module.exports = require("./mapping.node");
