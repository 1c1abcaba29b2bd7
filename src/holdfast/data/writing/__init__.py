"""Writing datasets: conversion, repair, and output that appears complete or not at all."""
